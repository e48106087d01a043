/**
 * Fills the hot window from the database, some seconds ahead. Each poll reads what the window's end has newly reached,
 * and looks back a few seconds for what came in late. A hint that something is due earlier is read at once; missing the
 * hint costs at most one poll. At a change of leadership and once a minute everything up to the window's end is read.
 *
 * Who is behind with firing does not look back: it would read again what it holds already. It makes up for that later.
 */
import type { HotEntry, HotWindow } from '../hot-window/port.ts'
import { type Clock, monotonicMs } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import { type ReturnSource, readDueReturns } from '../store/executions/returning.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { executionRow, scheduleRow } from '../store/quarantine/set-aside.ts'
import { type DueWindow, readDueKeys, readDueSchedules } from '../store/schedules/read-due.ts'

const lookBackMs = 5_000
const fullEveryMs = 60_000
const pageSize = 5_000
/** Above this the window is not filled further; what is due first is in it. */
const maxEntries = 200_000

type Source = 'schedules' | ReturnSource
const sources: readonly Source[] = ['schedules', 'retries', 'submissions']

export class WindowReader {
  readonly #database: Database
  readonly #window: HotWindow
  readonly #clock: Clock
  readonly #windowMs: number
  readonly #isolation: Isolation
  #readAllAt = Number.NEGATIVE_INFINITY
  /** Per source: everything due up to here has been read once. */
  readonly #readUpTo = new Map<Source, number>()
  #hint: number | null = null
  /** The next look back begins here, or earlier: everything due before it that came late has been seen. */
  #lookBackFrom = Number.POSITIVE_INFINITY

  constructor(options: {
    database: Database
    window: HotWindow
    clock: Clock
    windowMs: number
    isolation: Isolation
  }) {
    this.#isolation = options.isolation
    this.#database = options.database
    this.#window = options.window
    this.#clock = options.clock
    this.#windowMs = options.windowMs
  }

  /** The end of what has been read: something due before it must be put in by whoever knows of it. */
  get windowEnd(): number {
    return this.#readUpTo.get('schedules') ?? Number.NEGATIVE_INFINITY
  }

  /** Leadership changed: nothing can be taken for known. */
  forget(): void {
    this.#readAllAt = Number.NEGATIVE_INFINITY
  }

  /** Something is due at this time. True if that is worth reading for at once. */
  hint(at: number): boolean {
    if (at > this.#clock.now() + this.#windowMs) return false
    this.#hint = Math.min(this.#hint ?? at, at)
    return true
  }

  /** Something due at this time is to be read again, with the next look back. */
  lookBackTo(due: number): void {
    this.#lookBackFrom = Math.min(this.#lookBackFrom, due)
  }

  async runOnce(shards: number[]): Promise<void> {
    if (shards.length === 0) return
    const now = this.#clock.now()
    const until = Math.ceil(now + this.#windowMs)
    const full = now - this.#readAllAt >= fullEveryMs
    const hint = this.#hint
    this.#hint = null
    const behind = this.#window.nextDue() === 0
    const lookBackFrom = Math.min(this.#lookBackFrom, now - lookBackMs)
    if (!behind) this.#lookBackFrom = now - lookBackMs
    await Promise.all(
      sources.map(async (source) => {
        const upTo = full ? 0 : (this.#readUpTo.get(source) ?? 0)
        // What came in late lies behind now: a submission by as long as its caller kept the transaction open.
        const back = behind ? Number.POSITIVE_INFINITY : source === 'submissions' ? 0 : lookBackFrom
        // What a hint spoke of lies between it and the end of what was read: one range with what is new.
        const from = hint === null ? upTo : Math.floor(Math.min(upTo, back, hint))
        if (!full && hint === null && now > back) await this.#read(source, shards, Math.floor(back), Math.ceil(now))
        if (until > from) this.#readUpTo.set(source, Math.max(upTo, await this.#read(source, shards, from, until)))
      }),
    )
    if (full) this.#readAllAt = now
  }

  /** Reads a range of due times, in pages. Answers up to where it came. */
  async #read(source: Source, shards: number[], from: number, until: number): Promise<number> {
    let start = from
    let limit = pageSize
    for (;;) {
      const asOf = monotonicMs()
      const entries = await this.#readPage(source, { shards, from: start, until, limit }, asOf)
      for (const entry of entries) this.#window.put(entry)
      if (entries.length < limit) return until
      const last = entries.at(-1)!.due
      if (this.#window.size > maxEntries) return last
      // More of one millisecond than a page holds are read with a larger one.
      limit = last > start ? pageSize : limit * 2
      start = last
    }
  }

  /** A row that cannot be read is set aside; the others are read without it. */
  async #readPage(source: Source, range: DueWindow, asOf: number): Promise<HotEntry[]> {
    const read = (only?: string[]) =>
      source === 'schedules' ? this.#readSchedules(range, asOf, only) : this.#readReturns(source, range, asOf, only)
    const { answers, found, stoppedBy } = await this.#isolation.runRead(`read of ${source}`, {
      all: read,
      read: () => readDueKeys(this.#database, source, range),
      work: read,
      rowOf: (id) => (source === 'schedules' ? scheduleRow(id) : executionRow(source, id)),
    })
    if (stoppedBy) throw stoppedBy.error
    // Without the bad ones a page holds others.
    return found ? this.#readPage(source, range, asOf) : answers.flat()
  }

  async #readSchedules(range: DueWindow, asOf: number, only?: string[]): Promise<HotEntry[]> {
    const source = 'schedules'
    return (await readDueSchedules(this.#database, range, only)).map((schedule) => {
      const { jobId: key, shard, due, job } = schedule
      return { key, shard, tenant: job.tenant, due, tries: 0, asOf, source, schedule }
    })
  }

  async #readReturns(source: ReturnSource, range: DueWindow, asOf: number, only?: string[]): Promise<HotEntry[]> {
    return (await readDueReturns(this.#database, source, range, only)).map((item) => {
      const { executionId: key, shard, due, tenant } = item
      return { key, shard, tenant, due, tries: 0, asOf, source, item }
    })
  }
}
