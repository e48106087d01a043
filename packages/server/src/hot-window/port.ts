/**
 * The hot window: what is due in the next moments, held where it can be had without asking the database. It is a copy:
 * losing it loses nothing, and an entry that is stale is refused by FIRE. No row is written before its time.
 */
import type { DueReturn, ReturnSource } from '../store/executions/returning.ts'
import type { DueSchedule } from '../store/schedules/read-due.ts'

export type HotEntry = {
  key: string
  shard: number
  tenant: string
  due: number
  tries: number
  /** It was so at this time of the monotonic clock or later: when the read began, or FIRE was answered. */
  asOf: number
} & ({ source: 'schedules'; schedule: DueSchedule } | { source: ReturnSource; item: DueReturn })

export interface HotWindow {
  /** Adds an entry, or replaces the one with the same key, unless what is known of that is newer. */
  put(entry: HotEntry): void
  /** Takes what is due at `now`, at most `max`, in turns over tenants. */
  take(now: number, max: number): HotEntry[]
  /** When the earliest entry is due; null if there is none. 0: some that were due are still to be taken. */
  nextDue(): number | null
  /** Forgets the entries of shards that are not led any more. */
  keepOnly(shards: ReadonlySet<number>): void
  readonly size: number
}
