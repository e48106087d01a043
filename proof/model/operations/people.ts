/** Executions cancelled and replayed by people, in every state. */
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { agree } from '../compare.ts'
import { cancel, replay } from '../oracle/people.ts'
import { type Execution, type Place, runsOnce } from '../oracle/world.ts'
import { tenant } from '../rig.ts'
import { codeOr, type Operation, operation, type Sides, someExecution } from './operation.ts'

const why = { reason: 'CANCELLED', actor: 'person' }
const standsIn = (place: Place['in']) => (execution: Execution) => execution.place.in === place

export const people: Operation[] = [
  cancelling('a ready execution is cancelled', 2, standsIn('ready'), 'CANCELLED'),
  cancelling('a waiting execution is cancelled', 1, standsIn('waiting'), 'CANCELLED'),
  cancelling('one that waits for a retry is cancelled', 1, standsIn('retries'), 'CANCELLED'),
  cancelling('a running execution is told to stop', 6, standsIn('running'), 'CANCELLING'),
  cancelling('what has ended cannot be cancelled', 1, standsIn('ledger'), 'ENDED'),

  operation('a one-shot to come is cancelled', 1, async (sides, random) => {
    const coming = [...sides.world.jobs.values()].filter(({ definition, state }) => {
      return runsOnce(definition) && (state === 'ACTIVE' || state === 'PAUSED')
    })
    const job = random.of(coming.filter(({ id }) => !sides.world.executions.has(id)))
    return job === undefined ? null : (await cancelBoth(sides, job.id)) === 'CANCELLED'
  }),

  operation('what was enqueued is cancelled', 1, async (sides, random) => {
    const id = random.of([...sides.world.enqueued.keys()])
    return id === undefined ? null : (await cancelBoth(sides, id)) === 'CANCELLED'
  }),

  operation('what never was cannot be cancelled', 1, async (sides) => {
    return (await cancelBoth(sides, newId(sides.world.now))) === 'EXECUTION_NOT_FOUND'
  }),

  replaying('a dead letter is replayed', 4, (execution) => endedAs(execution, 'DEAD'), 'REPLAYED'),
  replaying('a cancelled execution is replayed', 3, (execution) => endedAs(execution, 'CANCELLED'), 'REPLAYED'),
  replaying('a replay that would overlap is refused', 2, (execution) => execution.job !== null, 'OVERLAP_FORBIDDEN'),
  replaying(
    'what has not ended, succeeded or was skipped is not replayed',
    1,
    (execution) => !endedAs(execution, 'DEAD') && !endedAs(execution, 'CANCELLED'),
    'STATE_CONFLICT',
  ),
]

function cancelling(
  name: string,
  weight: number,
  suits: (execution: Execution) => boolean,
  verdict: string,
): Operation {
  return operation(name, weight, async (sides, random) => {
    const execution = someExecution(sides, random, suits)
    return execution === undefined ? null : (await cancelBoth(sides, execution.id)) === verdict
  })
}

async function cancelBoth({ world, rig }: Sides, id: string): Promise<string> {
  const ours = cancel(world, id)
  const owner = (world.executions.get(id)?.job ?? world.jobs.get(id))?.tenant ?? tenant
  agree('the answer to a cancel', ours, await codeOr(rig.executions.cancel(owner, id, why)))
  return ours
}

/** Only those of which the answer is known beforehand are asked for. */
function replaying(name: string, weight: number, suits: (execution: Execution) => boolean, verdict: string): Operation {
  return operation(name, weight, async (sides, random) => {
    const execution = someExecution(sides, random, (each) => suits(each) && knowsItsJob(each))
    if (!execution) return null
    const { world, rig } = sides
    const ours = replay(world, execution)
    const asked = rig.executions.replay(execution.job?.tenant ?? tenant, execution.id, 'person').then(() => 'REPLAYED')
    agree('the answer to a replay', ours, await codeOr(asked))
    return ours === verdict
  })
}

/** A one-shot that has fired has left, and its overlap policy with it. */
function knowsItsJob({ job }: Execution): boolean {
  return job === null || job.state !== 'GONE' || job.definition.overlap === 'ALLOW'
}

function endedAs({ place }: Execution, state: string): boolean {
  return place.in === 'ledger' && place.state === state
}
