/** What a scenario is, what it is given and what it answers. */
import type { Ground } from './ground/ground.ts'

export interface Result {
  /** Begins with the name of the scenario: `lateness 2000/s p99`. */
  name: string
  value: number
  unit: string
  /** Null: told, not judged; so is `ok` then. */
  target: number | null
  ok: boolean | null
  /** How the value compares: at least the target, or at most. */
  better: 'higher' | 'lower'
  /** Spread over the rounds, CPU by role, sizes: shown in the table and kept in the document. */
  detail?: Record<string, number | string>
}

export interface Bench {
  /** Small sizes, to see that it works. No proof of anything. */
  quick: boolean
  /** How often the same is measured. */
  rounds: number
  /** Another checkout of Carillon to measure in turns with this one, as the base of URLs; null: none. */
  beside: URL | null
  /** The only one of the scenario's parts to run; null: all of them. */
  part: string | null
  ground: Ground
  /** Says what goes on, for people. */
  progress(text: string): void
  /** The size of the full form, or that of the quick one. */
  size(full: number, quick: number): number
}

/** A file of scenarios/ exports one as `scenario`. */
export interface Scenario {
  name: string
  /** One line, for people. */
  summary: string
  /** How long the full form may take, in minutes; 20 unless given. */
  limitMinutes?: number
  /** The quick form; 3 unless given. */
  quickLimitMinutes?: number
  /** That can be run by themselves. */
  parts?: readonly string[]
  run(bench: Bench): Promise<Result[]>
}

/** A result with its verdict. */
export function judged(result: Omit<Result, 'ok'>): Result {
  const { value, target, better } = result
  const reached = better === 'higher' ? value >= (target ?? 0) : value <= (target ?? 0)
  return { ...result, ok: target === null ? null : reached }
}
