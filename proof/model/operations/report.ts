/** How attempts end, as workers and nodes report it; rightly, too late, twice, or of what never was. */
import type { ReportedOutcome } from '@carillon/sdk'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import type { NodeOutcome } from '../../../packages/server/src/domain/node-outcome.ts'
import { completeIn as completeInTransaction } from '../../../packages/server/src/library/complete-in.ts'
import { agree } from '../compare.ts'
import { completeIn, defer, report, type Said } from '../oracle/attempts.ts'
import { isNamed } from '../oracle/followers.ts'
import type { Execution, Lease, World } from '../oracle/world.ts'
import type { Random } from '../random.ts'
import { codeOr, type Operation, operation, type Sides, someExecution, someRunning } from './operation.ts'
import { holders } from './work.ts'

const error = (name: string) => ({ name, message: 'as the model wished' })
const anyOne = () => true
const isStep = ({ run }: Execution) => run !== null
const isFollowed = ({ job }: Execution, _: Lease, world: World) => job !== null && isNamed(world, job)

export const reports: Operation[] = [
  ending('an attempt succeeds', 10, (random) => ({ outcome: 'SUCCEEDED', result: `{"n":${random.between(1, 99)}}` })),
  ending('an attempt fails', 8, () => ({ outcome: 'FAILED', errorName: 'Broken' })),
  ending('an attempt fails with progress', 2, (random) => ({
    ...{ outcome: 'FAILED', errorName: 'Broken', progress: `{"at":${random.between(1, 99)}}` },
  })),
  ending('an attempt fails for good', 1, () => ({ outcome: 'FAILED', errorName: 'Broken', permanent: true })),
  ending('an attempt fails with an error that is not retried', 1, () => ({ outcome: 'FAILED', errorName: 'Hopeless' })),
  ending('an attempt asks for a time to come back', 1, (random) => ({
    ...{ outcome: 'FAILED', errorName: 'Broken', retryAfterMs: random.between(0, 20_000) },
  })),
  ending(
    'a step succeeds',
    10,
    (random) => ({ outcome: 'SUCCEEDED', result: `{"n":${random.between(1, 99)}}` }),
    isStep,
  ),
  ending('one that is followed succeeds', 5, () => ({ outcome: 'SUCCEEDED', result: '4' }), isFollowed),
  ending(
    'one that is followed fails',
    3,
    () => ({ outcome: 'FAILED', errorName: 'Broken', permanent: true }),
    isFollowed,
  ),
  ending('a step fails for good', 2, () => ({ outcome: 'FAILED', errorName: 'Broken', permanent: true }), isStep),
  ending('an attempt times out', 2, () => ({ outcome: 'TIMED_OUT', errorName: 'TimedOut' })),
  ending('an attempt is stopped', 1, () => ({ outcome: 'CANCELLED' })),
  ending(
    'a cancelled attempt stops',
    3,
    () => ({ outcome: 'CANCELLED' }),
    (_, { cancel }) => cancel !== null,
  ),
  ending(
    'a cancelled attempt fails',
    2,
    () => ({ outcome: 'FAILED', errorName: 'Broken' }),
    (_, { cancel }) => cancel !== null,
  ),
  ending(
    'a cancelled attempt succeeds',
    1,
    () => ({ outcome: 'SUCCEEDED', result: '1' }),
    (_, { cancel }) => cancel !== null,
  ),
  ending('a worker that stops hands back', 2, (random) => ({
    ...{ outcome: 'HANDED_BACK', reason: 'SHUTDOWN', began: true },
    ...(random.chance(0.5) && { progress: '"half"' }),
  })),
  ending('a worker hands back what it has not begun', 2, () => ({
    ...{ outcome: 'HANDED_BACK', reason: 'NOT_STARTED', began: false },
  })),
  ending('a worker without the handler hands back', 4, () => ({
    ...{ outcome: 'HANDED_BACK', reason: 'UNKNOWN_HANDLER', began: false },
  })),
  operation('no worker has the handler for too long', 15, async (sides, random) => {
    const held = someRunning(sides, random, (execution) => execution.unknownHandlerSince !== null)
    if (!held) return null
    const { execution, lease } = held
    const said: Said = { outcome: 'HANDED_BACK', reason: 'UNKNOWN_HANDLER', began: false }
    await reportBoth(sides, [{ executionId: execution.id, fence: lease.fence, said }])
    return execution.place.in === 'ledger' && execution.place.reason === 'UNKNOWN_HANDLER'
  }),
  ending('a completion that did not commit is a failure', 1, () => ({ outcome: 'COMPLETED_IN_TRANSACTION' })),

  operation('a completion commits', 3, async (sides, random) => {
    const held = someRunning(sides, random, (_, { completed }) => completed === null)
    if (!held) return null
    return (await completeBoth(sides, held.execution, held.lease.fence, random)) === null
  }),

  operation('a completion under another fence is refused', 1, async (sides, random) => {
    const held = someRunning(sides, random, (_, { fence }) => fence > 1)
    if (!held) return null
    return (await completeBoth(sides, held.execution, another(held.lease.fence, random), random)) === 'FENCE_STALE'
  }),

  ending(
    'what was completed is reported',
    12,
    () => ({ outcome: 'COMPLETED_IN_TRANSACTION' }),
    (_, { completed }) => completed !== null,
  ),

  operation('a worker leaves it to somebody outside', 2, async (sides, random) => {
    const held = someRunning(sides, random, (_, { workerId }) => workerId !== null)
    return held === undefined ? null : (await deferBoth(sides, held.execution, held.lease.fence)) === 'ACCEPTED'
  }),

  operation('the same is left to somebody outside again', 1, async (sides, random) => {
    const execution = someExecution(sides, random, ({ told }) => told.some(({ outcome }) => outcome === 'DEFERRED'))
    const fence = execution?.told.find(({ outcome }) => outcome === 'DEFERRED')?.fence
    return execution === undefined ? null : (await deferBoth(sides, execution, fence!)) === 'ACCEPTED'
  }),

  ending(
    'somebody outside reports the end',
    6,
    (random) =>
      random.chance(0.6) ? { outcome: 'SUCCEEDED', result: 'true' } : { outcome: 'FAILED', errorName: 'Broken' },
    (_, { workerId }) => workerId === null,
  ),

  operation('several attempts end at once', 4, async (sides, random) => {
    const all = new Map<Execution, Lease>()
    for (let i = random.between(2, 5); i > 0; i--) {
      const held = someRunning(sides, random)
      if (held) all.set(held.execution, held.lease)
    }
    if (all.size < 2) return null
    const told = [...all].map(([execution, { fence }], i): Told => {
      const said: Said = i % 2 ? { outcome: 'FAILED', errorName: 'Broken' } : { outcome: 'SUCCEEDED', result: '2' }
      return { executionId: execution.id, fence: random.chance(0.1) ? another(fence, random) : fence, said }
    })
    await reportBoth(sides, told)
    return true
  }),

  operation('a report under an old fence is refused', 3, async (sides, random) => {
    const execution = someExecution(sides, random, ({ fence, told }) => fence !== null && told.length > 0)
    if (!execution) return null
    const fence = random.chance(0.5) ? execution.told[0]!.fence : execution.fence! - 1
    const said: Said = random.chance(0.5)
      ? { outcome: 'SUCCEEDED', result: '0' }
      : { outcome: 'FAILED', errorName: 'Late' }
    return (await reportBoth(sides, [{ executionId: execution.id, fence, said }])) === 'REFUSED'
  }),

  operation('a report under another fence leaves alone what runs', 2, async (sides, random) => {
    const held = someRunning(sides, random)
    if (!held) return null
    const { execution, lease } = held
    const said: Said = { outcome: 'SUCCEEDED', result: '0' }
    const fence = another(lease.fence, random)
    return (await reportBoth(sides, [{ executionId: execution.id, fence, said }])) === 'REFUSED'
  }),

  operation('a report repeated gets the same answer', 3, async (sides, random) => {
    const execution = someExecution(sides, random, ({ told }) => told.some(({ outcome }) => sayable.has(outcome)))
    const told = random.of(execution?.told.filter(({ outcome }) => sayable.has(outcome)) ?? [])
    if (!execution || !told) return null
    const said = sayable.get(told.outcome)!
    return (await reportBoth(sides, [{ executionId: execution.id, fence: told.fence, said }])) === 'ACCEPTED'
  }),

  operation('a report of what never was is refused', 1, async (sides, random) => {
    const executionId = newId(sides.world.now)
    const said: Said = random.chance(0.5)
      ? { outcome: 'SUCCEEDED', result: '0' }
      : { outcome: 'FAILED', errorName: 'Late' }
    return (await reportBoth(sides, [{ executionId, fence: 1, said }])) === 'REFUSED'
  }),

  operation('what a worker does not name is handed back', 2, async (sides, random) => {
    const { world, rig } = sides
    const workerId = random.of(holders(sides))
    const left = someRunning(sides, random, (_, lease) => lease.workerId === workerId)
    if (workerId === undefined || !left) return null
    const named = [...world.executions.values()].flatMap(({ id, place }) =>
      place.in === 'running' && place.lease.workerId === workerId && id !== left.execution.id
        ? [{ executionId: id, fence: place.lease.fence }]
        : [],
    )
    // Left out once, its lease may still have been on its way.
    for (let times = 0; times < 2; times++) {
      agree('lost', [], (await rig.comparison.compare(workerId, { named, told: [], at: world.now })).lost)
      await rig.comparison.handBackOmitted()
    }
    if (world.workers.has(workerId)) world.workers.set(workerId, world.now)
    const { fence, began } = left.lease
    report(world, left.execution, fence, { outcome: 'HANDED_BACK', reason: 'NOT_NAMED', began })
    return true
  }),

  operation('a lease that did not arrive is handed back', 1, async (sides, random) => {
    const held = someRunning(sides, random, (_, { began, workerId }) => !began && workerId !== null)
    if (!held) return null
    const { execution, lease } = held
    const said: NodeOutcome = { outcome: 'HANDED_BACK', reason: 'UNDELIVERED', began: false }
    const asked = { executionId: execution.id, fence: lease.fence, actor: 'node', from: 'NODE', said } as const
    const ours = report(sides.world, execution, lease.fence, { outcome: 'HANDED_BACK', reason: 'UNDELIVERED' })
    agree('the answer', ours, await sides.rig.completion.end(asked))
    return true
  }),
]

/** What may be said again, as it was said. */
const sayable = new Map<string, Said>([
  ['SUCCEEDED', { outcome: 'SUCCEEDED', result: '3' }],
  ['FAILED', { outcome: 'FAILED', errorName: 'Broken' }],
  ['TIMED_OUT', { outcome: 'TIMED_OUT', errorName: 'TimedOut' }],
  ['CANCELLED', { outcome: 'CANCELLED' }],
  ['HANDED_BACK', { outcome: 'HANDED_BACK', reason: 'SHUTDOWN', began: false }],
])

interface Told {
  executionId: string
  fence: number
  said: Said
}

/** A fence that is not this one: of the lease before, of another place in the same lease, of the same place in another lease. */
function another(fence: number, random: Random): number {
  return fence + random.pick([-1, 1, 1_024, -1_024])
}

/** One that runs ends so. */
function ending(
  name: string,
  weight: number,
  says: (random: Random) => Said,
  suits: (execution: Execution, lease: Lease, world: World) => boolean = anyOne,
): Operation {
  return operation(name, weight, async (sides, random) => {
    const held = someRunning(sides, random, suits)
    if (!held) return null
    const { execution, lease } = held
    return (
      (await reportBoth(sides, [{ executionId: execution.id, fence: lease.fence, said: says(random) }])) === 'ACCEPTED'
    )
  })
}

/** Answers the first verdict. */
async function reportBoth({ world, rig }: Sides, told: Told[]): Promise<'ACCEPTED' | 'REFUSED'> {
  const asked = told.map(({ executionId, fence, said }) => {
    const startedAt = said.outcome === 'HANDED_BACK' && !said.began ? null : world.now
    return {
      executionId,
      fence,
      actor: 'worker',
      from: 'WORKER',
      said: spoken(executionId, fence, said, startedAt),
    } as const
  })
  const ours = told.map(({ executionId, fence, said }) => {
    const startedAt = said.outcome === 'HANDED_BACK' && !said.began ? undefined : world.now
    return report(world, world.executions.get(executionId) ?? null, fence, { ...said, startedAt })
  })
  agree('the answer to a report', ours, await rig.completion.endAll(asked))
  return ours[0]!
}

/** The same as a worker writes it. */
function spoken(executionId: string, fence: number, said: Said, startedAt: number | null): ReportedOutcome {
  const { outcome, errorName, retryAfterMs, permanent, progress } = said
  const common = { executionId, fence, startedAt, finishedAt: 0 }
  const noted = progress !== undefined && { progress }
  switch (outcome) {
    case 'SUCCEEDED':
      return { ...common, outcome, result: said.result ?? null }
    case 'FAILED':
      return { ...common, outcome, error: error(errorName!), ...noted, ...{ retryAfterMs, permanent } }
    case 'TIMED_OUT':
      return { ...common, outcome, error: error(errorName!), ...noted }
    case 'HANDED_BACK':
      return { ...common, outcome, reason: said.reason as 'SHUTDOWN', ...noted }
    case 'CANCELLED':
    case 'COMPLETED_IN_TRANSACTION':
      return { ...common, outcome }
    case 'WORKER_LOST':
      throw new Error('no worker says that it is lost')
  }
}

async function deferBoth({ world, rig }: Sides, execution: Execution, fence: number): Promise<'ACCEPTED' | 'REFUSED'> {
  const ours = defer(world, execution, fence)
  const said = {
    executionId: execution.id,
    fence,
    startedAt: world.now,
    finishedAt: world.now,
    outcome: 'DEFERRED',
  } as const
  const asked = { executionId: execution.id, fence, actor: 'worker', from: 'WORKER', said } as const
  agree('the answer to who leaves it to others', ours, await rig.completion.end(asked))
  return ours
}

/** Null: it was completed. */
async function completeBoth(
  { rig }: Sides,
  execution: Execution,
  fence: number,
  random: Random,
): Promise<string | null> {
  const result = `{"done":${random.between(1, 99)}}`
  const ours = completeIn(execution, fence, result) ? null : 'FENCE_STALE'
  const { client } = rig
  await client.query('begin')
  const asked = completeInTransaction(client, { executionId: execution.id, fence, result })
  const theirs = (await codeOr(asked.then(() => null))) as string | null
  await client.query(theirs === null ? 'commit' : 'rollback')
  agree('the answer to a completion', ours, theirs)
  return ours
}
