/**
 * Bounds what a worker may send of log lines before outcomes: what it sends beyond that within a second is not taken, and comes
 * later or with the outcome. A worker of the SDK stays below it.
 */
import type { ReportedLines } from '@carillon/sdk'
import type { Clock } from '../lib/clock.ts'

const bytesInASecond = 1024 * 1024

export class LineBudget {
  readonly #clock: Clock
  readonly #spent = new Map<string, number>()
  #second = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether these lines of the worker are within its budget; then they are counted. */
  allows(workerId: string, { lines }: ReportedLines): boolean {
    const second = Math.floor(this.#clock.now() / 1_000)
    if (second !== this.#second) this.#spent.clear()
    this.#second = second
    let bytes = this.#spent.get(workerId) ?? 0
    if (bytes >= bytesInASecond) return false
    for (const { text } of lines) bytes += Buffer.byteLength(text) + 1
    this.#spent.set(workerId, bytes)
    return true
  }
}
