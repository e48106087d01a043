/** Which faults come when: a pure function of the seed. Every kind comes equally often, in another order in every round. */
import type { Random } from '../simulate/random.ts'

export interface PlannedFault<Kind extends string> {
  kind: Kind
  /** After the begin of the run. */
  atMs: number
}

export interface FaultTime {
  fromMs: number
  toMs: number
  /** How often each kind shall come. */
  rounds: number
}

export function planFaults<Kind extends string>(
  kinds: readonly Kind[],
  { fromMs, toMs, rounds }: FaultTime,
  random: Random,
): PlannedFault<Kind>[] {
  const order = Array.from({ length: rounds }, () => shuffled(kinds, random)).flat()
  const everyMs = (toMs - fromMs) / order.length
  return order.map((kind, n) => ({ kind, atMs: Math.round(fromMs + (n + random.next()) * everyMs) }))
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const all = [...items]
  for (let i = all.length - 1; i > 0; i--) {
    const j = random.whole(0, i)
    ;[all[i], all[j]] = [all[j]!, all[i]!]
  }
  return all
}
