/** One clock: PostgreSQL's. A node measures how far its own is off and adds that; nothing else reads the time. */
export interface Clock {
  /** The installation's time, milliseconds since 1970. */
  now(): number
}

/** The machine's monotonic clock, set to the installation's time by measured offset. */
export class OffsetClock implements Clock {
  #offsetMs = 0

  now(): number {
    return monotonicMs() + this.#offsetMs
  }

  /** The database said `serverTime` in an answer to a question asked at `asked` and answered at `answered`. */
  measured(serverTime: number, asked: number, answered: number): void {
    this.#offsetMs = serverTime - (asked + answered) / 2
  }

  /** How far this machine's wall clock is from the installation's, for warnings and metrics. */
  get offsetMs(): number {
    return this.#offsetMs + monotonicMs() - Date.now()
  }
}

/** Milliseconds since 1970 by this process's monotonic clock: never steps back, whatever happens to the wall clock. */
export function monotonicMs(): number {
  return performance.timeOrigin + performance.now()
}
