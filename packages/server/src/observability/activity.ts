/**
 * What happens to executions, told to what keeps figures of it. The rooms that do something tell it here after the commit, once for
 * each batch; nothing here reads a table, waits or throws. What is told is for figures: the ledger is what counts.
 */
import type { Origin } from '@carillon/contract'

/** What figures are kept by. */
export interface Work {
  tenant: string
  /** As the queue tables call it. */
  pool: string
  handler: string
}

/** How an attempt ended. */
export type AttemptOutcome = 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'WORKER_LOST' | 'CANCELLED' | 'HANDED_BACK'

export type RefusedDuplicate = 'FIRE' | 'DEDUPE' | 'IDEMPOTENCY_KEY'

export type BatchCall = 'FIRE' | 'SUBMIT' | 'LEASE' | 'REPORT'

/** What a lease gave a worker of one lane: arrays of equal length. */
export interface LeasedBatch {
  pool: string
  lane: number
  works: readonly Work[]
  /** From the due time to the lease; -1: it is not a first attempt. */
  pickUpMs: readonly number[]
}

/** Attempts that have ended: arrays of equal length. */
export interface EndedBatch {
  works: readonly Work[]
  outcomes: readonly AttemptOutcome[]
  /** -1: its handler did not begin. */
  durationMs: readonly number[]
  /** How the execution ended; null: it did not. */
  states: readonly ('SUCCEEDED' | 'DEAD' | 'CANCELLED' | null)[]
}

export interface Activity {
  /** One call of these, with so many executions. */
  batch(call: BatchCall, size: number): void
  /** A batch of due work went from the timing wheel to the queue within this time. */
  fireCycle(ms: number): void
  created(origin: Origin, works: readonly Work[]): void
  /** Occurrences of schedules that fired; they were also created. */
  fired(works: readonly Work[], latenessMs: readonly number[]): void
  leased(batch: LeasedBatch): void
  reported(batch: EndedBatch): void
  /** Ended without an attempt. */
  ended(state: 'DEAD' | 'CANCELLED' | 'SKIPPED', works: readonly Work[]): void
  duplicates(kind: RefusedDuplicate, count: number): void
  /** Reports of attempts that are not theirs any more. */
  staleReports(count: number): void
}

/** Tells all of them. */
export function tellAll(listeners: readonly Activity[]): Activity {
  const each = (tell: (listener: Activity) => void) => listeners.forEach(tell)
  return {
    batch: (call, size) => each((listener) => listener.batch(call, size)),
    fireCycle: (ms) => each((listener) => listener.fireCycle(ms)),
    created: (origin, works) => each((listener) => listener.created(origin, works)),
    fired: (works, latenessMs) => each((listener) => listener.fired(works, latenessMs)),
    leased: (batch) => each((listener) => listener.leased(batch)),
    reported: (batch) => each((listener) => listener.reported(batch)),
    ended: (state, works) => each((listener) => listener.ended(state, works)),
    duplicates: (kind, count) => each((listener) => listener.duplicates(kind, count)),
    staleReports: (count) => each((listener) => listener.staleReports(count)),
  }
}

const nothing = (): void => {}

/** For parts without figures, in tests. */
export const noActivity: Activity = {
  batch: nothing,
  fireCycle: nothing,
  created: nothing,
  fired: nothing,
  leased: nothing,
  reported: nothing,
  ended: nothing,
  duplicates: nothing,
  staleReports: nothing,
}
