/** An operation is done on both sides, and their answers are compared. */
import { CarillonError } from '@carillon/contract'
import { waitsForSignal } from '../oracle/runs.ts'
import { leased } from '../oracle/upkeep.ts'
import type { Execution, Lease, World } from '../oracle/world.ts'
import type { Random } from '../random.ts'
import type { Rig } from '../rig.ts'

export interface Sides {
  world: World
  rig: Rig
}

export interface Operation {
  /** Also what it is to achieve: it has succeeded when that was so. */
  name: string
  /** How often it is tried, beside the others. */
  weight: number
  /** Null: there was nothing to do it with, and nothing was done. False: both sides said no, or did something else. */
  run(sides: Sides, random: Random): Promise<boolean | null>
}

export function operation(name: string, weight: number, run: Operation['run']): Operation {
  return { name, weight, run }
}

/** The code of the refusal; else what was answered. */
export async function codeOr<T>(asked: Promise<T>): Promise<T | string> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof CarillonError) return error.code
    throw error
  }
}

/** One that runs and that suits. What waits for a signal no worker knows of. */
export function someRunning(
  { world }: Sides,
  random: Random,
  suits: (execution: Execution, lease: Lease, world: World) => boolean = () => true,
): { execution: Execution; lease: Lease } | undefined {
  return random.of(
    leased(world).filter(({ execution, lease }) => !waitsForSignal(execution) && suits(execution, lease, world)),
  )
}

export function someExecution(
  { world }: Sides,
  random: Random,
  suits: (execution: Execution) => boolean,
): Execution | undefined {
  return random.of([...world.executions.values()].filter(suits))
}
