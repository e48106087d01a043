/**
 * An installation whose time is a number: the real jobs, plans, FIRE, operations and tables, and nobody who does anything by
 * himself. What is due fires when the test lets time pass; while it is `down`, time passes and nothing fires.
 */
import type { JobInput } from '@carillon/contract'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { Jobs } from '../../../packages/server/src/jobs/jobs.ts'
import { KnownPools } from '../../../packages/server/src/jobs/pools.ts'
import { workersOnly } from '../../../packages/server/src/jobs/target.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { Operations } from '../../../packages/server/src/operations/operations.ts'
import { Operator } from '../../../packages/server/src/operations/operator.ts'
import { planSchedule } from '../../../packages/server/src/scheduling/plan.ts'
import type { Signals } from '../../../packages/server/src/signals/port.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import { fireReturns, readDueReturns } from '../../../packages/server/src/store/executions/returning.ts'
import { migrate } from '../../../packages/server/src/store/migrate.ts'
import type { JobRecord } from '../../../packages/server/src/store/rows.ts'
import { fire } from '../../../packages/server/src/store/schedules/fire.ts'
import { readDueSchedules } from '../../../packages/server/src/store/schedules/read-due.ts'
import { claimShards, type LedShard, renewLease } from '../../../packages/server/src/store/shards/claim.ts'
import { Partitioner } from '../../../packages/server/src/upkeep/partitioner.ts'
import {
  type Verification,
  type VerifyOptions,
  verifyInstallation,
} from '../../../packages/server/src/verification/installation.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

export const secondMs = 1_000
export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

const deaf: Signals = { publish() {}, subscribe: () => () => {}, async start() {}, async stop() {} }
const logger = createLogger('silent')
const tenant = 'acme'
const by = { actor: 'test' }

export async function virtualInstallation(startAt: number): Promise<VirtualInstallation> {
  const home = await createDatabase()
  const installation = new VirtualInstallation(home, startAt)
  await installation.prepare()
  await installation.lead()
  return installation
}

/** Installations that all begin at the same time, each on a copy of one database. */
export interface VirtualTemplate {
  open(): Promise<VirtualInstallation>
  [Symbol.asyncDispose](): Promise<void>
}

export async function virtualTemplate(startAt: number): Promise<VirtualTemplate> {
  const home = await createDatabase()
  const installation = new VirtualInstallation(home, startAt)
  await installation.prepare()
  await installation.database.end()
  return {
    open: async () => {
      const copy = new VirtualInstallation(await createDatabase({ template: home.name }), startAt)
      await copy.lead()
      return copy
    },
    [Symbol.asyncDispose]: () => home.drop(),
  }
}

export class VirtualInstallation {
  readonly database: Database
  readonly jobs: Jobs
  readonly clock = { now: () => this.now }
  now: number
  readonly startedAt: number
  readonly #home: TestDatabase
  readonly #operations: Operations
  readonly #operator: Operator
  #led: LedShard[] = []
  #tag = 0

  constructor(home: TestDatabase, startAt: number) {
    this.#home = home
    this.now = startAt
    this.startedAt = startAt
    const { clock } = this
    this.database = new Database({
      ...{ url: home.url, maxConnections: 4, statementTimeoutMs: 20_000, applicationName: 'test' },
      virtualNow: () => new Date(this.now),
    })
    const { database } = this
    const tag = async (flows: readonly unknown[]) => flows.map(() => ++this.#tag)
    const pools = new KnownPools(database)
    this.jobs = new Jobs({ database, signals: deaf, clock, tag, pools, targets: workersOnly })
    this.#operations = new Operations({ database, clock, pools, wake: () => {} })
    this.#operator = new Operator({ database, signals: deaf, clock, logger, tag, everyMs: 1_000 })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.end()
    await this.#home.drop()
  }

  async prepare(): Promise<void> {
    await migrate(this.database, { shardCount: 1, partitionHours: 24 * 7, retentionDays: 30 })
    await this.partitions()
  }

  async lead(): Promise<void> {
    const nodeId = newId(this.now)
    await renewLease(this.database, { nodeId, name: 'virtual', leaseMs: 10 * 365 * dayMs })
    this.#led = (await claimShards(this.database, nodeId)).shards
  }

  async partitions(): Promise<void> {
    await new Partitioner({ database: this.database, clock: this.clock, logger }).createMissing()
  }

  async create(input: Partial<JobInput> & Pick<JobInput, 'type'>): Promise<string> {
    const { job } = await this.jobs.put(tenant, { target: { handler: 'h' }, ...input } as JobInput, null, by)
    return job.definition.jobId
  }

  async edit(jobId: string, input: Partial<JobInput> & Pick<JobInput, 'type'>): Promise<void> {
    const wish = { input: { target: { handler: 'h' }, ...input } as JobInput, payload: null }
    await this.jobs.update(tenant, jobId, () => wish, by)
  }

  pause = (jobId: string): Promise<JobRecord> => this.jobs.pause(tenant, jobId, by)
  resume = (jobId: string): Promise<JobRecord> => this.jobs.resume(tenant, jobId, by)
  remove = (jobId: string): Promise<void> => this.jobs.remove(tenant, jobId, by)

  async trigger(jobId: string): Promise<void> {
    await this.jobs.trigger(tenant, jobId, { payload: null, traceparent: null, ...by })
  }

  async backfill(jobId: string, from: number, to: number, includeSkipped: boolean): Promise<void> {
    const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
    const asker = { tenant, ...by }
    const work = await this.#operations.backfill(asker, { jobId, ...range, includeSkipped, concurrency: 10_000 })
    await work.begin({})
    await this.#operator.runOnce()
    await this.#fireRetries()
  }

  /** Lets time pass; whatever comes due on the way fires at its time. */
  async run(ms: number): Promise<void> {
    const end = this.now + ms
    for (;;) {
      const [first] = await this.#due(end, 1)
      if (!first) break
      this.now = Math.max(this.now, first.due)
      await this.fireDue()
    }
    this.now = end
  }

  /** Lets time pass while nobody is there to fire. */
  down(ms: number): void {
    this.now += ms
  }

  /** Fires what is due now, as the leader does: again and again, as long as a plan was cut short. */
  async fireDue(): Promise<void> {
    for (let due = await this.#due(this.now, 1_000); due.length > 0; due = await this.#due(this.now, 1_000)) {
      const plans = due.map((row) => planSchedule(row, this.now))
      const occurrences = plans.flatMap((plan) => plan.occurrences).map((o) => ({ ...o, tag: ++this.#tag }))
      const moves = plans.map((plan) => plan.move)
      const { moved } = await fire(this.database, this.#led, moves, occurrences)
      if (moved.length < moves.length) throw new Error('FIRE left something out')
    }
    await this.#fireRetries()
  }

  /** What comes back into the queue: retries, and what a backfill lets go. */
  async #fireRetries(): Promise<void> {
    for (;;) {
      const due = await readDueReturns(this.database, 'retries', {
        shards: [0],
        from: 0,
        until: this.now,
        limit: 1_000,
      })
      if (due.length === 0) return
      const items = due.map(({ executionId }) => ({ executionId, tag: ++this.#tag }))
      await fireReturns(this.database, 'retries', this.#led, items)
    }
  }

  #due(until: number, limit: number) {
    return readDueSchedules(this.database, { shards: [0], from: 0, until, limit })
  }

  /** The whole time up to now, unless told otherwise. */
  verify(options: Partial<VerifyOptions> = {}): Promise<Verification> {
    return verifyInstallation(this.database, { from: this.startedAt, to: this.now, now: this.now, ...options })
  }

  /** One statement by hand; answers its rows. */
  // biome-ignore lint/suspicious/noExplicitAny: what a statement answers, looked into by a test
  sql(text: string, values: unknown[] = []): Promise<any[]> {
    return this.database.query(null, text, values)
  }
}
