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

  /**
   * What one call leased, by lane. Leases of one call have no order among themselves: each of a lower lane answers
   * for the `laneTurn - 1` before it, whether they came with this call or earlier.
   */
  leased(counts: readonly number[]): void {
    let lower = 0
    for (let lane = this.since.length - 1; lane >= 0; lane--) {
      const since = this.since[lane]! + counts[lane]! - lower * (laneTurn - 1)
      this.since[lane] = Math.max(0, Math.min(since, laneTurn - 1))
      lower += counts[lane]!
    }
  }
}
