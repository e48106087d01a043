/** What steps of graphs return, and are signalled with: conditions compare its number, fan-outs run over its items. */
import type { Random } from './random.ts'

export interface StepResult {
  n: number
  items: { of: unknown; i: number; fails: boolean }[]
}

const lengths = [0, 1, 2, 3, 5, 8]

/** `of`: what no other result is of. */
export function drawResult(random: Random, of: unknown): StepResult {
  const count = random.pick(lengths)
  return {
    n: random.whole(0, 9),
    items: Array.from({ length: count }, (_, i) => ({ of, i, fails: random.chance(0.15) })),
  }
}
