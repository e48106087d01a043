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
  /** At the end of every round none begins for so long; 0 unless given. */
  quietMs?: number
}

export function planFaults<Kind extends string>(
  kinds: readonly Kind[],
  { fromMs, toMs, rounds, quietMs = 0 }: FaultTime,
  random: Random,
): PlannedFault<Kind>[] {
  const orders = Array.from({ length: rounds }, () => shuffled(kinds, random))
  const roundMs = (toMs - fromMs) / rounds
  const everyMs = (roundMs - quietMs) / kinds.length
  return orders.flatMap((order, round) =>
    order.map((kind, n) => ({
      kind,
      atMs: Math.round(fromMs + round * roundMs + (n + random.next()) * everyMs),
    })),
  )
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const all = [...items]
  for (let i = all.length - 1; i > 0; i--) {
    const j = random.whole(0, i)
    ;[all[i], all[j]] = [all[j]!, all[i]!]
  }
  return all
}
