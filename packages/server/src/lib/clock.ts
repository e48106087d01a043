/** One clock: PostgreSQL's. A node measures the offset of its own and adds it; nothing else reads the time. */
import { type Clock, monotonicMs } from '@carillon/contract/process'

export { type Clock, monotonicMs }

/** An answer within this time is taken for the time in its middle. */
const closeMs = 50

/** The machine's monotonic clock, set to the installation's time by measured offset. */
export class OffsetClock implements Clock {
  readonly aheadMs: number = 1
  /** Null: nothing was measured yet. */
  #offsetMs: number | null = null

  now(): number {
    return monotonicMs() + (this.#offsetMs ?? 0)
  }

  /**
   * The database said `serverTime` in an answer to a question asked at `asked` and answered at `answered`. If that took
   * long, it says little: the question may have waited for a connection, or the answer on its way. What was known before
   * then holds as far as the answer allows, and at first the clock is rather behind than ahead.
   */
  measured(serverTime: number, asked: number, answered: number): void {
    const [least, most] = [serverTime - answered, serverTime - asked]
    const known = Math.min(Math.max(this.#offsetMs ?? least, least), most)
    this.#offsetMs = most - least <= closeMs ? (least + most) / 2 : known
  }

  /** How far this machine's wall clock is from the installation's, for warnings and metrics. */
  get offsetMs(): number {
    return this.now() - Date.now()
  }
}

/** A moment by the machine's wall clock, for a library that takes its time limits so. */
export function wallClockIn(ms: number): number {
  return Date.now() + ms
}
