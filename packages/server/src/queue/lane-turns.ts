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
   * The lanes that one call leased from. Leases of one call have no order among themselves: each of a lower lane answers
   * for the `laneTurn - 1` before it, whether they came with this call or earlier.
   */
  leased(lanes: readonly number[]): void {
    this.since.forEach((before, lane) => {
      const own = lanes.filter((l) => l === lane).length
      const lower = lanes.filter((l) => l > lane).length
      this.since[lane] = Math.max(0, Math.min(before + own - lower * (laneTurn - 1), laneTurn - 1))
    })
  }
}
