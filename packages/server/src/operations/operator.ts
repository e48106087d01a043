/**
 * Works on operations, a batch at a time. Any node may take up any operation; each step names the fence it was taken up with and
 * stores how far it has come in the transaction that did the work. So a node that dies leaves nothing half done, another
 * continues there, and two at once do nothing twice.
 */
import type { Flow } from '../domain/fairness.ts'
import { isId, timeOf } from '../domain/identity.ts'
import { settled } from '../jobs/change.ts'
import { BatchLimit } from '../lib/batch-limit.ts'
import type { Clock } from '../lib/clock.ts'
import { type Again, Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { cancel } from '../store/executions/cancel.ts'
import { readOpen } from '../store/executions/read-occurrences.ts'
import { changeJob } from '../store/jobs/change.ts'
import { readJob } from '../store/jobs/read.ts'
import {
  type BackfillParams,
  type BulkParams,
  type CopyParams,
  failOperation,
  type OperationRecord,
} from '../store/operations/operations.ts'
import { type Step, stepBackfill, stepCancel, stepOver, stepPurge, stepRetry } from '../store/operations/step.ts'
import { readNextOperation, takeOperation } from '../store/operations/take.ts'
import { readInstallation } from '../store/partitions/manage.ts'
import { badRow, Isolation } from '../store/quarantine/isolation.ts'
import { operationRow } from '../store/quarantine/set-aside.ts'
import type { JobRecord } from '../store/rows.ts'
import { isOfData, isTransient, wasTooSlow } from '../store/trouble.ts'
import { firesLeft, planStretch, recurs } from './backfill.ts'
import { nextBatch, orderOf } from './bulk.ts'
import { Copier } from './copy.ts'

export interface OperatorOptions {
  database: Database
  signals: Signals
  clock: Clock
  logger: Logger
  isolation?: Isolation
  everyMs: number
  /** Gives copies their places in the queue. */
  tag: (flows: readonly Flow[]) => Promise<number[]>
  /** Called after a commit that submitted these. */
  onSubmitted?: (items: { tenant: string; executionId: string }[]) => void
  /** Called with executions that were asked to end and did not run: they may be CANCELLED. */
  onCancelled?: (executionIds: string[]) => void
  /** Called with executions of past occurrences that were created. */
  onBackfilled?: (executionIds: string[]) => void
  /** Called after a commit that moved the schedules of these jobs. */
  onMoved?: (jobIds: readonly string[]) => void
}

const mostAtOnce = 200
/** With a rate limit, the part of a second's share to do at a time. */
const shareOfSecond = 0.2
/** Delay before locked or blocked executions are tried again. */
const waitMs = 100

export class Operator implements Service {
  readonly #options: OperatorOptions
  readonly #loop: Loop
  readonly #limit = new BatchLimit(mostAtOnce)
  readonly #isolation: Isolation
  readonly #copier: Copier
  #stopping = false

  constructor(options: OperatorOptions) {
    this.#options = options
    const { everyMs, logger } = options
    this.#isolation = options.isolation ?? new Isolation(options)
    this.#copier = new Copier(options)
    this.#loop = new Loop({ name: 'operator', everyMs, logger, runOnce: () => this.runOnce() })
  }

  async start(): Promise<void> {
    this.#stopping = false
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await this.#loop.stop()
  }

  /** There is something new to do. */
  wake(): void {
    this.#loop.wake()
  }

  /** Takes steps as long as an operation is due; answers how long until the next one is. */
  async runOnce(): Promise<Again | undefined> {
    const { database, clock } = this.#options
    while (!this.#stopping) {
      const operation = await takeOperation(database)
      if (!operation) break
      await this.#take(operation)
    }
    const next = await readNextOperation(database)
    return next === null ? undefined : { againInMs: Math.max(0, next - clock.now()) }
  }

  async #take(operation: OperationRecord): Promise<void> {
    try {
      checkOperation(operation)
      await this.#limit.watch(() => this.#step(operation, this.#batchOf(operation)), wasTooSlow)
    } catch (error) {
      if (isTransient(error)) throw error
      // It can never continue: it ends as FAILED.
      const row = badRow(operationRow(operation.operationId), error)
      await this.#isolation.setAside('operation', [{ item: operation, row }])
    }
  }

  /** Bisects a failing step: the execution that makes it fail is left alone. */
  async #step(operation: OperationRecord, most: number): Promise<void> {
    const step = operation.kind === 'BACKFILL' ? this.#backfill : this.#bulk
    try {
      await step.call(this, operation, most)
    } catch (error) {
      if (!isOfData(error)) throw error
      if (most > 1) return this.#step(operation, Math.ceil(most / 2))
      this.#options.logger.error({ err: error, operationId: operation.operationId }, 'an execution was left alone')
      await step.call(this, { ...operation, open: await this.#goodOpen(operation) }, 1, true)
    }
  }

  /** Of those that are to be asked again, the ones that can be. */
  async #goodOpen({ kind, open, createdBy: actor }: OperationRecord): Promise<string[]> {
    if (kind !== 'CANCEL') return open
    const good: string[] = []
    for (const executionId of open) {
      try {
        await cancel(this.#options.database, [executionId], { reason: 'CANCELLED', actor })
        good.push(executionId)
      } catch (error) {
        if (!isOfData(error)) throw error
      }
    }
    return good
  }

  /** `pass`: steps over what is next instead. */
  async #bulk(operation: OperationRecord, most: number, pass = false): Promise<void> {
    const { database, clock } = this.#options
    const began = clock.now()
    const { selection, what = 'ANY' } = operation.params as BulkParams
    const { kind, position, open } = operation
    const order = orderOf(kind)
    const { ids, next } = await nextBatch(database, { selection, order, position, limit: most })
    const over = next === null
    const step: Step = {
      operation,
      ids: [...open, ...ids],
      // At the end it stays where it is, should something be open: what was dealt with is not looked at again.
      position: next ?? ids.at(-1) ?? null,
      over,
      delayMs: Math.max(this.#delayOf(operation, ids.length, began), over ? waitMs : 0),
    }
    if (pass) await stepOver(database, { ...step, ids: open }, ids.length)
    else if (kind === 'CANCEL') await this.#cancel(step, what)
    else if (kind === 'PURGE') await stepPurge(database, step)
    else if (kind === 'COPY') await this.#copier.step(step)
    else if ((await stepRetry(database, step)) > 0) this.#tellDue()
  }

  async #cancel(step: Step, what: string): Promise<void> {
    const { database, signals, onCancelled } = this.#options
    const flagged = await stepCancel(database, step, what)
    for (const { workerId, executionId, fence } of flagged) {
      signals.publish({ kind: 'CANCEL', workerId, executionId, fence, reason: 'CANCELLED' })
    }
    // What was open before runs, and ends by a report.
    const running = new Set([...step.operation.open, ...flagged.map(({ executionId }) => executionId)])
    onCancelled?.(step.ids.filter((id) => !running.has(id)))
  }

  async #backfill(operation: OperationRecord, most: number, pass = false): Promise<void> {
    const { database, clock } = this.#options
    const began = clock.now()
    const params = operation.params as BackfillParams
    const job = await this.#jobOf(operation, params)
    if (!job) return
    const open = await readOpen(database, operation.open)
    const oneByOne = job.definition.overlap !== 'ALLOW'
    const free = Math.min(params.concurrency - open.length, oneByOne ? 1 : most, firesLeft(job))
    const position = operation.position === null ? null : Number(operation.position)
    const plan =
      free > 0
        ? await planStretch(database, job, { params, position, room: free })
        : { fills: [], passed: 0, position: null, over: firesLeft(job) === 0 }
    if (pass) {
      const passed = { operation, ids: open, position: String(plan.position), over: plan.over, delayMs: 0 }
      await stepOver(database, passed, plan.fills.length + plan.passed)
      return
    }
    const stuck = plan.fills.length === 0 && (free <= 0 || plan.over)
    const outcome = await stepBackfill(database, {
      ...{ operation, jobId: params.jobId, version: job.version, fills: plan.fills, open, passed: plan.passed },
      ...{ position: plan.position === null ? null : String(plan.position), over: plan.over, waitMs },
      delayMs: stuck ? waitMs : this.#delayOf(operation, plan.fills.length, began),
    })
    if (plan.fills.length === 0 || outcome === 'LOST') return
    this.#options.onBackfilled?.(plan.fills.map(({ id }) => id))
    this.#tellDue()
  }

  /** The job as it is now, with what has passed in a pause on record; null: it cannot go on, or not yet. */
  async #jobOf({ operationId, fence, tenant }: OperationRecord, { jobId }: BackfillParams): Promise<JobRecord | null> {
    const { database, clock } = this.#options
    const job = await readJob(database, tenant, jobId)
    if (!job || !recurs(job)) {
      const error = job ? 'the job has no schedule any more' : 'the job was deleted'
      await failOperation(database, { operationId, fence, error })
      return null
    }
    const { floorId } = await readInstallation(database)
    const change = settled(job, { now: clock.now(), floor: timeOf(floorId) })
    if (!change) return job
    if (await changeJob(database, job, change)) this.#options.onMoved?.([jobId])
    return readJob(database, tenant, jobId)
  }

  #batchOf({ ratePerSec }: OperationRecord): number {
    const most = this.#limit.current
    return ratePerSec === null ? most : Math.min(most, Math.max(1, Math.floor(ratePerSec * shareOfSecond)))
  }

  /** So that no more than the rate goes through: what the step took is part of the time. */
  #delayOf({ ratePerSec }: OperationRecord, count: number, began: number): number {
    if (ratePerSec === null) return 0
    return Math.max(0, (count / ratePerSec) * 1_000 - (this.#options.clock.now() - began))
  }

  #tellDue(): void {
    this.#options.signals.publish({ kind: 'DUE', at: this.#options.clock.now() })
  }
}

/** A row written by hand may hold anything, and a value that is not a number would be compared with times for ever. */
function checkOperation({ kind, params, position }: OperationRecord): void {
  const given = (params ?? {}) as Partial<CopyParams & BackfillParams>
  const isBackfill = kind === 'BACKFILL'
  const isPosition = position === null || (isBackfill ? /^\d{1,15}$/.test(position) : isId(position))
  const isComplete = isBackfill
    ? isId(String(given.jobId)) && [given.from, given.to, given.concurrency].every(Number.isFinite)
    : typeof given.selection?.tenant === 'string' && (kind !== 'COPY' || Number.isSafeInteger(given.at))
  if (!isPosition || !isComplete) throw new TypeError('its parameters are not those of an operation')
}
