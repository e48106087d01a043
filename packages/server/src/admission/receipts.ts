/**
 * What this node has acknowledged, counted, so that verify can say whether the ledger still has it.
 *
 * A count is written after the acknowledgement: the ledger has at least as many rows, unless some were deleted, or the database lost
 * what it had committed because a replica that was behind was promoted or an older state restored. Those who submit never
 * wait for it. It goes with a beat each second; the last counts stay in memory for some minutes, so that a node which lives through
 * a fail-over can tell the new database what the old one had confirmed.
 *
 * What must stay true: never counted before it is committed; a count in the database is never larger than what was acknowledged.
 */
import { newId, timeOf } from '../domain/identity.ts'
import type { Clock } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { type Beat, type Receipt, writeBeat } from '../store/verification/receipts.ts'

export interface ReceiptsOptions {
  database: Database
  nodeId: string
  clock: Clock
  logger: Logger
}

const everyMs = 1_000
/** Receipts go with every n-th beat: a tenant that submits little costs as few rows as possible. */
const beatsPerFlush = 5
const minuteMs = 60_000
/** A book is written into for that long, and kept for as long again. */
const bookMs = 10 * minuteMs

interface Book {
  id: string
  openedAt: number
  receipts: Map<string, Receipt>
}

export class Receipts implements Service {
  readonly #options: ReceiptsOptions
  readonly #loop: Loop
  readonly #unsaid = new Set<Receipt>()
  #books: Book[] = []
  #seen: Beat | null = null
  #beats = 0
  /** Counts that the database may have lost must be sent again. */
  #urgent = false

  constructor(options: ReceiptsOptions) {
    this.#options = options
    this.#loop = new Loop({ name: 'receipts', everyMs, logger: options.logger, runOnce: () => this.runOnce() })
  }

  /** Submissions that were committed. */
  acknowledged(items: readonly { tenant: string; executionId: string }[]): void {
    if (items.length === 0) return
    const book = this.#openBook()
    let last: Receipt | null = null
    for (const { tenant, executionId } of items) {
      const minute = Math.floor(timeOf(executionId) / minuteMs) * minuteMs
      if (last === null || last.minute !== minute || last.tenant !== tenant) last = this.#receipt(book, tenant, minute)
      last.count++
    }
  }

  async start(): Promise<void> {
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    if (this.#unsaid.size > 0) await this.#write()
  }

  async runOnce(): Promise<void> {
    this.#beats++
    await this.#write(this.#beats % beatsPerFlush === 0)
    if (this.#urgent) await this.#write()
  }

  async #write(withReceipts = true): Promise<void> {
    const { database, nodeId } = this.#options
    if (withReceipts) this.#urgent = false
    const receipts = withReceipts ? [...this.#unsaid].map((receipt) => ({ ...receipt })) : []
    if (withReceipts) this.#unsaid.clear()
    try {
      const { before, ...beat } = await writeBeat(database, nodeId, this.#seen, receipts)
      const seen = this.#seen
      this.#seen = beat
      if (seen !== null && (before === null || before.beat < seen.beat)) this.#sayAgain(seen, before)
      else if (seen !== null && seen.timeline !== beat.timeline) this.#promoted(seen, beat)
    } catch (error) {
      if (withReceipts) this.#allUnsaid()
      throw error
    }
  }

  /** The database has lost commits: send it every count still in memory. */
  #sayAgain(seen: Beat, before: Beat | null): void {
    const after = before === null ? null : new Date(before.at).toISOString()
    const until = new Date(seen.at).toISOString()
    this.#options.logger.error({ after, until }, 'the database lost commits; run: carillon verify')
    this.#urgent = true
    this.#allUnsaid()
  }

  #promoted(seen: Beat, { timeline }: Beat): void {
    this.#options.logger.warn(
      { from: seen.timeline, to: timeline },
      'another server took over; if it was behind, what was acknowledged last may be missing; ask with: carillon verify',
    )
    this.#urgent = true
    this.#allUnsaid()
  }

  #allUnsaid(): void {
    for (const { receipts } of this.#books) for (const receipt of receipts.values()) this.#unsaid.add(receipt)
  }

  #openBook(): Book {
    const now = this.#options.clock.now()
    const newest = this.#books.at(-1)
    if (newest && now - newest.openedAt < bookMs) return newest
    const book: Book = { id: newId(Math.floor(now)), openedAt: now, receipts: new Map() }
    this.#books = [...this.#books.filter(({ openedAt }) => now - openedAt < 2 * bookMs), book]
    return book
  }

  #receipt({ id: book, receipts }: Book, tenant: string, minute: number): Receipt {
    const key = `${minute} ${tenant}`
    let receipt = receipts.get(key)
    if (receipt === undefined) {
      receipt = { tenant, minute, book, count: 0 }
      receipts.set(key, receipt)
    }
    this.#unsaid.add(receipt)
    return receipt
  }
}
