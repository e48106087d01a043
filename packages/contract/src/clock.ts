export interface Clock {
  /** Milliseconds since 1970. Whose they are, the implementation says: this process's, PostgreSQL's, a test's. */
  now(): number
  /** How far it may be ahead of PostgreSQL's clock; a millisecond unless it says so. */
  readonly aheadMs?: number
}

/** Milliseconds since 1970 by this process's monotonic clock: never steps back, whatever happens to the wall clock. */
export function monotonicMs(): number {
  return performance.timeOrigin + performance.now()
}

/** The process's own clock. It starts at the wall clock's time and does not follow later corrections of it. */
export const systemClock: Clock = { now: monotonicMs }
