/** Runs of graphs: what people ask of them, and what the leaders of their shards do. */
import { startInlineRun } from '../../../packages/server/src/dags/start-run.ts'
import { shardOf } from '../../../packages/server/src/domain/identity.ts'
import type { LedShard } from '../../../packages/server/src/store/shards/claim.ts'
import { agree } from '../compare.ts'
import { someGraph } from '../definitions.ts'
import { advance, look } from '../oracle/advance.ts'
import type { Run, Step } from '../oracle/graph.ts'
import { canAdvance, cancelRun, pauseRun, resumeRun, retryRun, signal, startRun } from '../oracle/runs.ts'
import { openOnes, type World } from '../oracle/world.ts'
import { type Rig, shardCount, tenant } from '../rig.ts'
import { stepsOf } from '../wire.ts'
import { codeOr, type Operation, operation, type Sides } from './operation.ts'
import { sweepBoth } from './upkeep.ts'

const mostRuns = 4
const goesOn = (run: Run) => run.end === null
const endedAs = (state: string) => (run: Run) => run.end?.state === state

export const runs: Operation[] = [
  operation('a run is started', 6, async (sides, random) => {
    const { world, rig } = sides
    if (runsOf(world, goesOn).length >= mostRuns) return null
    const steps = someGraph(random)
    const deadlineSec = random.chance(0.3) ? random.between(5, 120) : null
    const { clock, jobs } = rig
    const dags = { readActive: () => Promise.reject(new Error('it has steps of its own')) }
    const asked = { steps: stepsOf(steps), ...(deadlineSec !== null && { deadlineSec }) }
    const by = { tenant, actor: 'person' }
    const { runId } = await startInlineRun({ clock, jobs, dags, dagRuns: rig.runs }, by, asked)
    startRun(world, { id: runId, steps, deadlineSec })
    return true
  }),

  operation('a leader advances runs', 16, async (sides) => {
    if (!runsOf(sides.world, canAdvance).length) return null
    return advanceBoth(sides, sides.rig.led)
  }),

  operation('a leader of some shards advances their runs', 3, async (sides, random) => {
    const run = random.of(runsOf(sides.world, canAdvance))
    if (!run) return null
    const own = shardOf(run.id, shardCount)
    const led = sides.rig.led.filter(({ shard }) => shard === own || random.chance(0.3))
    return advanceBoth(sides, led)
  }),

  operation('a leader that was replaced advances nothing', 1, async ({ world, rig }) => {
    if (rig.formerlyLed === rig.led || !runsOf(world, canAdvance).length) return null
    await rig.runLeader.advance(rig.formerlyLed)
    return true
  }),

  operation('a paused run holds back what could go on', 3, async (sides, random) => {
    const run = random.of(runsOf(sides.world, (each) => each.paused && canAdvance(each)))
    if (!run) return null
    await advanceBoth(sides, sides.rig.led)
    return run.steps.some(({ execution: { place } }) => place.in === 'blocked' && place.held)
  }),

  operation('the deadline of a run passes', 2, async (sides, random) => {
    const { world, rig } = sides
    const coming = runsOf(world, (run) => goesOn(run) && run.deadlineAt !== null && run.deadlineAt > world.now)
    const run = random.of(coming)
    if (!run) return null
    if (random.chance(0.7) && pauseRun(run) === null) await rig.runs.pause(tenant, run.id, 'person')
    world.now = run.deadlineAt!
    await sweepBoth(sides)
    return true
  }),

  operation('a signal comes too late', 2, async ({ world, rig }, random) => {
    const step = random.of(waitingSteps(world))
    if (step?.execution.place.in !== 'running') return null
    world.now = Math.max(world.now, step.execution.place.lease.overdueAt)
    agree('the answer', signal(world, step, '0'), await codeOr(signalInStore(rig, step, '0')))
    return true
  }),

  changing('a run is cancelled', 2, goesOn, 'cancel'),
  changing('a run that has ended is not cancelled', 1, (run) => !goesOn(run), 'cancel', true),
  changing('a run is paused', 3, (run) => goesOn(run) && run.cancel === null && !run.paused, 'pause'),
  changing('a run that is paused is paused again', 1, (run) => run.paused && run.cancel === null, 'pause'),
  changing(
    'a run that is cancelled or has ended is not paused',
    1,
    (run) => !goesOn(run) || run.cancel !== null,
    'pause',
    true,
  ),
  changing('a run is resumed', 4, (run) => run.paused && run.cancel === null, 'resume'),
  changing(
    'a run that is cancelled or has ended is not resumed',
    1,
    (run) => !goesOn(run) || run.cancel !== null,
    'resume',
    true,
  ),
  changing('a run that failed is retried', 4, endedAs('FAILED'), 'retry'),
  changing('a run that was cancelled is retried', 3, endedAs('CANCELLED'), 'retry'),
  changing(
    'a run that goes on or has succeeded is not retried',
    1,
    (run) => goesOn(run) || endedAs('SUCCEEDED')(run),
    'retry',
    true,
  ),

  meanwhile('a run is cancelled after its leader has looked', 1, 'cancel', goesOn),
  meanwhile('a run is paused after its leader has looked', 1, 'pause', (run) => run.cancel === null && !run.paused),

  signalling(
    'a step is signalled',
    8,
    ({ waitsForSignal, execution }) => waitsForSignal && execution.place.in === 'running',
  ),
  signalling(
    'a step that does not wait is not signalled',
    1,
    ({ execution }) => execution.place.in !== 'running',
    true,
  ),
  signalling('a step that waits for no signal is not signalled', 1, ({ waitsForSignal }) => !waitsForSignal, true),
]

function waitingSteps(world: World): Step[] {
  const steps = runsOf(world, goesOn).flatMap((run) => run.steps)
  return steps.filter(({ waitsForSignal, execution }) => waitsForSignal && execution.place.in === 'running')
}

function runsOf(world: World, suits: (run: Run) => boolean): Run[] {
  return [...world.runs.values()].filter(suits)
}

const verbs = {
  cancel: (world: World, run: Run) => cancelRun(world, run, 'RUN_CANCELLED'),
  pause: (_: World, run: Run) => pauseRun(run),
  resume: (_: World, run: Run) => resumeRun(run),
  retry: (_: World, run: Run) => retryRun(run),
}

function changing(
  name: string,
  weight: number,
  suits: (run: Run) => boolean,
  verb: keyof typeof verbs,
  isRefused = false,
): Operation {
  return operation(name, weight, async ({ world, rig }, random) => {
    const run = random.of(runsOf(world, suits))
    if (!run) return null
    const refusal = verbs[verb](world, run)
    agree('the answer', refusal, await codeOr(rig.runs[verb](tenant, run.id, 'person').then(() => null)))
    return (refusal !== null) === isRefused
  })
}

/** A run is changed between a leader's look and what it writes: that is about what it saw, as far as it is still so. */
function meanwhile(name: string, weight: number, verb: 'cancel' | 'pause', suits: (run: Run) => boolean): Operation {
  return operation(name, weight, async (sides, random) => {
    const { world, rig } = sides
    const run = random.of(runsOf(world, (each) => canAdvance(each) && suits(each)))
    if (!run) return null
    const seen = look(world, leads(rig.led))
    agree('the answer', null, verbs[verb](world, run))
    advance(world, leads(rig.led), seen)
    await rig.runLeader.advance(rig.led, () => rig.runs[verb](tenant, run.id, 'person'))
    await learnFences(sides)
    return true
  })
}

function signalling(name: string, weight: number, suits: (step: Step) => boolean, isRefused = false): Operation {
  return operation(name, weight, async ({ world, rig }, random) => {
    const step = random.of(runsOf(world, () => true).flatMap(({ steps }) => steps.filter(suits)))
    if (!step) return null
    const result = `{"n":${random.between(1, 99)}}`
    const refusal = signal(world, step, result)
    agree('the answer', refusal, await codeOr(signalInStore(rig, step, result)))
    return (refusal !== null) === isRefused
  })
}

async function signalInStore({ runs }: Rig, { execution, name }: Step, result: string): Promise<null> {
  await runs.signal({ tenant, actor: 'person' }, { runId: execution.run!.id, step: name, result })
  return null
}

async function advanceBoth(sides: Sides, led: readonly LedShard[]): Promise<boolean> {
  const done = advance(sides.world, leads(led))
  await sides.rig.runLeader.advance(led)
  await learnFences(sides)
  return done
}

function leads(led: readonly LedShard[]): (run: Run) => boolean {
  const shards = new Set(led.map(({ shard }) => shard))
  return ({ id }) => shards.has(shardOf(id, shardCount))
}

/** Under which fence a step waits for a signal. */
async function learnFences({ world, rig }: Sides): Promise<void> {
  const waiting = openOnes(world).filter(({ place }) => place.in === 'running' && place.lease.fence === 0)
  if (waiting.length === 0) return
  const fences = await rig.runLeader.fencesOf(waiting.map(({ id }) => id))
  for (const execution of waiting) {
    const fence = fences.get(execution.id)
    if (fence === undefined || execution.place.in !== 'running') continue
    execution.place.lease.fence = fence
    execution.told.push({ fence, outcome: 'DEFERRED' })
    execution.timeline.push(`DEFERRED ${fence}`)
    world.fence = Math.max(world.fence, fence)
  }
}
