/**
 * The due source in PostgreSQL: reads `schedules`, `retries` and `submissions` by due time. Each claim reads what `until` has
 * newly reached, and looks back a few seconds for what came in late. After a hint it reads from the hinted time on. When the
 * led shards have changed, and once a minute, it reads everything that is due.
 *
 * A claim leaves no trace in the database: a row stays where it is until FIRE moves it. So there is nothing to confirm, and
 * another leader finds the rows of one that crashed. A caller that is behind is not made to read again what it holds already:
 * the look back is made up for later. See docs/decisions/0022-what-the-hot-window-knows.md.
 */
import type { Clock } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import { readDueReturns } from '../store/executions/returning.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { executionRow, scheduleRow } from '../store/quarantine/set-aside.ts'
import { type DueWindow, readDueKeys, readDueSchedules } from '../store/schedules/read-due.ts'
import type { LedShard } from '../store/shards/claim.ts'
import { readInPages } from './paging.ts'
import type { ClaimRequest, DueEntry, DueSource } from './port.ts'

const lookBackMs = 5_000
const fullEveryMs = 60_000

type Source = DueEntry['source']
type Take = ClaimRequest['take']
const allSources: readonly Source[] = ['schedules', 'retries', 'submissions']

export interface PostgresDueSourceOptions {
  database: Database
  clock: Clock
  isolation: Isolation
  /** What to read; all of it unless another source has the rest. */
  sources?: readonly Source[]
}

export class PostgresDueSource implements DueSource {
  readonly claimMs = fullEveryMs
  readonly #options: PostgresDueSourceOptions
  #shards: readonly LedShard[] = []
  #readAllAt = Number.NEGATIVE_INFINITY
  /** Per source: everything due up to here has been read once. */
  readonly #readUpTo = new Map<Source, number>()
  #hint: number | null = null
  /** The next look back begins here, or earlier: everything due before it that came late has been seen. */
  #lookBackFrom = Number.POSITIVE_INFINITY

  constructor(options: PostgresDueSourceOptions) {
    this.#options = options
  }

  get claimedUntil(): number {
    return this.#readUpTo.get('schedules') ?? Number.NEGATIVE_INFINITY
  }

  hint(at: number): void {
    this.#hint = Math.min(this.#hint ?? at, at)
  }

  /** FIRE has moved the rows themselves. */
  confirm(): void {}

  /** Signals say when something new is due. */
  moved(): void {}

  giveBack(entries: readonly DueEntry[]): void {
    for (const { due } of entries) this.#lookBackFrom = Math.min(this.#lookBackFrom, due)
  }

  /** The next claim reads everything that is due. */
  dropped(): void {
    this.#shards = []
  }

  async claim({ shards, until, behind, take }: ClaimRequest): Promise<void> {
    if (shards.length === 0) return
    const now = this.#options.clock.now()
    const full = !isSame(shards, this.#shards) || now - this.#readAllAt >= fullEveryMs
    // Set at the end: a claim that fails half-way has not read everything.
    if (full) this.#readAllAt = Number.NEGATIVE_INFINITY
    this.#shards = shards
    const ids = shards.map(({ shard }) => shard)
    const hint = this.#hint
    this.#hint = null
    const lookBackFrom = Math.min(this.#lookBackFrom, now - lookBackMs)
    if (!behind) this.#lookBackFrom = now - lookBackMs
    await Promise.all(
      (this.#options.sources ?? allSources).map(async (source) => {
        const upTo = full ? 0 : (this.#readUpTo.get(source) ?? 0)
        // What came in late lies behind now: a submission by as long as its caller kept the transaction open.
        const back = behind ? Number.POSITIVE_INFINITY : source === 'submissions' ? 0 : lookBackFrom
        // What a hint spoke of lies between it and the end of what was read: one range with what is new.
        const from = hint === null ? upTo : Math.floor(Math.min(upTo, back, hint))
        if (!full && hint === null && now > back)
          await this.#read(source, { shards: ids, from: Math.floor(back), until: Math.ceil(now) }, take)
        if (until > from) {
          const reached = await this.#read(source, { shards: ids, from, until }, take)
          this.#readUpTo.set(source, Math.max(upTo, reached))
        }
      }),
    )
    if (full) this.#readAllAt = now
  }

  /** Answers up to where it came. */
  #read(source: Source, { shards, from, until }: Omit<DueWindow, 'limit'>, take: Take): Promise<number> {
    return readInPages({ from, until, take, read: (page) => this.#readPage(source, { shards, ...page }) })
  }

  /** A row that cannot be read is set aside; the others are read without it. */
  async #readPage(source: Source, range: DueWindow): Promise<DueEntry[]> {
    const { database, isolation } = this.#options
    const read = (only?: string[]) => this.#readEntries(source, range, only)
    const { answers, found, stoppedBy } = await isolation.runRead(`read of ${source}`, {
      all: read,
      read: () => readDueKeys(database, source, range),
      work: read,
      rowOf: (id) => (source === 'schedules' ? scheduleRow(id) : executionRow(source, id)),
    })
    if (stoppedBy) throw stoppedBy.error
    // Without the bad ones a page holds others.
    return found ? this.#readPage(source, range) : answers.flat()
  }

  async #readEntries(source: Source, range: DueWindow, only?: string[]): Promise<DueEntry[]> {
    const { database } = this.#options
    if (source === 'schedules') {
      const schedules = await readDueSchedules(database, range, only)
      return schedules.map((schedule) => ({ source, tenant: schedule.job.tenant, ...schedule }))
    }
    return (await readDueReturns(database, source, range, only)).map((item) => ({ source, ...item }))
  }
}

function isSame(a: readonly LedShard[], b: readonly LedShard[]): boolean {
  return a.length === b.length && a.every(({ shard, epoch }, i) => shard === b[i]!.shard && epoch === b[i]!.epoch)
}
