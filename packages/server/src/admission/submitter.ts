/**
 * Submissions that are due now: what FIRE does for a schedule, done at once. Submissions that arrive together are written
 * together, each answered after its commit. An all-or-none batch is written alone. A single submission
 * that a worker waits for is handed over (hand-over.ts).
 */
import { BatchLimit } from '../lib/batch-limit.ts'
import { Batcher } from '../lib/batcher.ts'
import { bisect } from '../lib/bisect.ts'
import { type Activity, noActivity } from '../observability/activity.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { type Submission, submit, submitOnce } from '../store/executions/submit.ts'
import { type AnswerEntry, AnsweredBefore } from '../store/idempotency/answers.ts'
import { createWork, type NewWork } from '../store/jobs/create.ts'
import { isOfData, isTransient, wasTooSlow } from '../store/trouble.ts'
import type { HandOver } from './hand-over.ts'
import type { Receipts } from './receipts.ts'
import type { TagFlows } from './tags.ts'

const maxBatch = 1_000

interface Asked {
  item: Submission
  entry: AnswerEntry | null
}

type Outcome = 'DONE' | 'ANSWERED' | { error: unknown }

export class Submitter {
  readonly #database: Database
  readonly #tag: TagFlows
  readonly #signals: Signals
  readonly #handOver: HandOver | null
  readonly #receipts: Pick<Receipts, 'acknowledged'> | null
  readonly #onMoved: ((jobIds: readonly string[]) => void) | null
  readonly #activity: Activity
  readonly #batcher: Batcher<Asked, Outcome>
  readonly #limit = new BatchLimit(maxBatch)

  constructor(options: {
    database: Database
    tag: TagFlows
    signals: Signals
    handOver?: HandOver
    receipts?: Pick<Receipts, 'acknowledged'>
    /** Called after a commit that created these jobs. */
    onMoved?: (jobIds: readonly string[]) => void
    activity?: Activity
  }) {
    this.#database = options.database
    this.#tag = options.tag
    this.#signals = options.signals
    this.#handOver = options.handOver ?? null
    this.#receipts = options.receipts ?? null
    this.#onMoved = options.onMoved ?? null
    this.#activity = options.activity ?? noActivity
    this.#batcher = new Batcher({
      maxItems: () => this.#limit.current,
      concurrency: 2,
      flush: (asked) => this.#limit.watch(() => this.#flush(asked), wasTooSlow),
    })
  }

  /** Resolves after the commit. Throws AnsweredBefore if the request was. */
  async submit(item: Submission, entry: AnswerEntry | null = null): Promise<void> {
    const outcome = await this.#batcher.add({ item, entry })
    if (outcome === 'ANSWERED') throw new AnsweredBefore()
    if (outcome !== 'DONE') throw outcome.error
  }

  /** Writes all of them in one transaction. */
  async submitAll(items: Submission[]): Promise<void> {
    if (items.length === 0) return
    const tags = await this.#tag(items)
    await submit(this.#database, items, tags)
    this.#created(items)
    this.#announce(items, tags)
  }

  /** Writes jobs to come and submissions due now in one transaction. False: nothing was written, see createWork. */
  async create(work: Omit<NewWork, 'tags'>): Promise<boolean> {
    const { jobs, submissions = [] } = work
    const tags = await this.#tag(submissions)
    if (!(await createWork(this.#database, { ...work, tags }))) return false
    this.#created(submissions)
    this.#announce(submissions, tags)
    if (jobs.length === 0) return true
    this.#onMoved?.(jobs.map(({ definition }) => definition.jobId))
    const earliest = Math.min(...jobs.map(({ due }) => due ?? Number.POSITIVE_INFINITY))
    if (Number.isFinite(earliest)) this.#signals.publish({ kind: 'DUE', at: earliest })
    return true
  }

  idle(): Promise<void> {
    return this.#batcher.idle()
  }

  /** Bisects a failing batch so that only the bad item fails. On a transient database error all fail. */
  async #flush(asked: Asked[]): Promise<Outcome[]> {
    const { done, bad, stoppedBy } = await bisect(asked, {
      work: (part) => this.#write(part),
      isOwn: (error) => !isTransient(error),
    })
    if (stoppedBy) throw stoppedBy.error
    const outcomes = new Map<Asked, Outcome>(bad.map(({ item, error }) => [item, { error }]))
    for (const { items, answer } of done) for (const [i, item] of items.entries()) outcomes.set(item, answer[i]!)
    return asked.map((each) => outcomes.get(each)!)
  }

  async #write(asked: Asked[]): Promise<Outcome[]> {
    if (asked.length === 1) {
      const outcome = await this.#handedOver(asked[0]!)
      if (outcome !== null) return [outcome]
    }
    const items = asked.map(({ item }) => item)
    if (asked.every(({ entry }) => entry === null)) {
      await this.submitAll(items)
      return asked.map(() => 'DONE')
    }
    const tags = await this.#tag(items)
    const entries = asked.map(({ entry }) => entry)
    const answered = await submitOnce(this.#database, items, tags, entries)
    this.#created(items.filter((_, i) => !answered.has(i)))
    this.#announce(items, tags)
    return asked.map((_, i) => (answered.has(i) ? 'ANSWERED' : 'DONE'))
  }

  /** Null: it has to be written without a worker. The failure may come from the execution leased instead, the first in the queue. */
  async #handedOver({ item, entry }: Asked): Promise<Outcome | null> {
    const handed = await this.#handOver?.submit(item, entry)?.catch((error: unknown) => {
      if (isOfData(error)) return null
      throw error
    })
    if (!handed) return null
    if (!handed.answered) this.#created([item])
    if (handed.readyAt !== null) this.#announce([item], [handed.readyAt])
    return handed.answered ? 'ANSWERED' : 'DONE'
  }

  #created(items: readonly Submission[]): void {
    if (items.length === 0) return
    this.#receipts?.acknowledged(items)
    this.#activity.batch('SUBMIT', items.length)
    this.#activity.created('SUBMIT', items)
  }

  #announce(items: Submission[], tags: number[]): void {
    const lanes = new Map<string, { pool: string; lane: number; tag: number }>()
    items.forEach(({ pool, lane }, i) => {
      const key = `${pool}\u0000${lane}`
      const known = lanes.get(key)
      if (!known || tags[i]! < known.tag) lanes.set(key, { pool, lane, tag: tags[i]! })
    })
    for (const lane of lanes.values()) this.#signals.publish({ kind: 'READY', ...lane })
  }
}
