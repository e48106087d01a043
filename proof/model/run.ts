/**
 * Random operations on the oracle and on Carillon together; after each, everything that can be seen of both is compared.
 * A step is an operation and a seed of its own, so that a run can be repeated to the letter, also without some of its
 * steps.
 */
import { compare, Difference } from './compare.ts'
import { checkMoves, type States } from './moves.ts'
import { operations } from './operations/index.ts'
import type { Operation, Sides } from './operations/operation.ts'
import { pauseFailing } from './oracle/jobs.ts'
import { emptyWorld } from './oracle/world.ts'
import { Random } from './random.ts'
import { beginning, type Rig } from './rig.ts'
import { seedIds } from './seeded-ids.ts'

export interface Step {
  operation: string
  seed: number
}

export interface Outcome {
  seed: number
  steps: Step[]
  /** How often each operation did what it is named for. */
  succeeded: Map<string, number>
  /** Every end with its reason that there was. */
  ends: Set<string>
  /** The last step led to it. */
  difference: Difference | null
}

/** Every end an execution or a run can have. */
export const allEnds = [
  ...['SUCCEEDED', 'SKIPPED MISFIRED', 'SKIPPED GRACE_EXCEEDED', 'SKIPPED CATCH_UP_LIMIT', 'SKIPPED OVERLAP'],
  ...['SKIPPED PAUSED', 'SKIPPED EDITED', 'SKIPPED EXPIRED', 'CANCELLED CANCELLED', 'CANCELLED REPLACED'],
  ...['CANCELLED JOB_DELETED', 'DEAD ATTEMPTS_USED_UP', 'DEAD NOT_RETRYABLE', 'DEAD OUTCOME_UNKNOWN', 'DEAD DEADLINE'],
  'DEAD UNKNOWN_HANDLER',
  ...['SKIPPED DEPENDENCY_FAILED', 'SKIPPED DEPENDENCY_SKIPPED', 'SKIPPED CONDITION_FALSE', 'SKIPPED CONDITION_FAILED'],
  ...['CANCELLED RUN_CANCELLED', 'CANCELLED RUN_DEADLINE', 'run SUCCEEDED', 'run FAILED STEP_FAILED'],
  ...['run FAILED DEADLINE', 'run CANCELLED CANCELLED'],
]

const byName = new Map(operations.map((operation) => [operation.name, operation]))
/** So often an operation that has not succeeded yet is preferred. */
const shareOfMissing = 0.4

export interface RunOptions {
  seed: number
  /** At least so many. */
  steps: number
  /** It goes on until everything has happened once, but no longer than this. */
  mostSteps?: number
  /** Told how far it has come. */
  onStep?: (done: number) => unknown
}

export async function run(rig: Rig, { seed, steps, mostSteps = steps, onStep }: RunOptions): Promise<Outcome> {
  const random = new Random(seed)
  const outcome: Outcome = { seed, steps: [], succeeded: new Map(), ends: new Set(), difference: null }
  const next = () => {
    const done = outcome.steps.length
    if (done >= mostSteps || (done >= steps && missing(outcome).length === 0)) return null
    return { operation: choose(random, outcome.succeeded).name, seed: random.seed() }
  }
  await walk(rig, outcome, next, onStep)
  return outcome
}

/** The same steps once more. Those that find nothing to do any more are left out. */
export async function repeat(rig: Rig, { seed, steps }: { seed: number; steps: readonly Step[] }): Promise<Outcome> {
  const outcome: Outcome = { seed, steps: [], succeeded: new Map(), ends: new Set(), difference: null }
  const left = steps.values()
  await walk(rig, outcome, () => left.next().value ?? null)
  return outcome
}

/** What should have happened in a run and did not. */
export function missing({ succeeded, ends }: Outcome): string[] {
  const never = operations.filter(({ name }) => !succeeded.has(name)).map(({ name }) => name)
  return [...never, ...allEnds.filter((end) => !ends.has(end))]
}

async function walk(rig: Rig, outcome: Outcome, next: () => Step | null, onStep?: RunOptions['onStep']): Promise<void> {
  using _ids = seedIds(outcome.seed)
  const world = emptyWorld(beginning)
  outcome.ends = world.ends
  await rig.begin(() => world.now)
  for (const workerId of rig.workers) world.workers.set(workerId, world.now)
  const sides = { world, rig }
  const states: States = new Map()
  for (let step = next(); step !== null; step = next()) {
    try {
      const done = await take(sides, step, states)
      if (done === null) continue
      outcome.steps.push(step)
      onStep?.(outcome.steps.length)
      if (done) outcome.succeeded.set(step.operation, (outcome.succeeded.get(step.operation) ?? 0) + 1)
    } catch (error) {
      outcome.steps.push(step)
      outcome.difference =
        error instanceof Difference ? error : new Difference(`${step.operation} failed: ${error}`, { cause: error })
      return
    }
  }
}

async function take(sides: Sides, { operation, seed }: Step, states: States): Promise<boolean | null> {
  const done = await byName.get(operation)!.run(sides, new Random(seed))
  if (done === null) return null
  await sides.rig.settle()
  pauseFailing(sides.world)
  checkMoves(states, await compare(sides.world, sides.rig))
  await sides.rig.prepare()
  return done
}

function choose(random: Random, succeeded: Map<string, number>): Operation {
  const missing = operations.filter(({ name }) => !succeeded.has(name))
  if (missing.length > 0 && random.chance(shareOfMissing)) return random.of(missing)!
  const all = operations.reduce((sum, { weight }) => sum + weight, 0)
  let at = random.next() * all
  for (const operation of operations) {
    at -= operation.weight
    if (at < 0) return operation
  }
  return operations.at(-1)!
}
