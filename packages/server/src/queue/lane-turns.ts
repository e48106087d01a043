/**
 * Lanes are leased strictly by priority, but of any 20 leases at least one goes to a lower lane that has work; and the
 * same again among the lower lanes, so that LOW is not starved by HIGH either. This counts, LEASE decides.
 */
import { priorities } from '@carillon/contract'

/** Of this many leases at least one is a lower lane's. LEASE is told. */
export const laneTurn = 20

export class LaneTurns {
  /** Per lane: leases it had since a lower lane had one, at most `laneTurn - 1`. */
  readonly since = priorities.map(() => 0)

  /** Leases from these lanes, in this order. */
  leased(lanes: readonly number[]): void {
    for (const lane of lanes) {
      for (let above = 0; above < lane; above++) this.since[above] = 0
      this.since[lane] = Math.min(this.since[lane]! + 1, laneTurn - 1)
    }
  }
}
