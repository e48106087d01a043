/**
 * Carillon on a virtual clock: the parts of a node that decide and write, on a real database, without the loops that run
 * them. Time is a number that the operations move; nothing happens between two calls.
 */
import type pg from 'pg'
import { Submitter } from '../../packages/server/src/admission/submitter.ts'
import { Completion } from '../../packages/server/src/completion/completion.ts'
import { DagRuns } from '../../packages/server/src/dags/runs.ts'
import { newId } from '../../packages/server/src/domain/identity.ts'
import { Ends } from '../../packages/server/src/executions/ends.ts'
import { Executions } from '../../packages/server/src/executions/executions.ts'
import { FailureWatch } from '../../packages/server/src/jobs/failure-watch.ts'
import { Jobs } from '../../packages/server/src/jobs/jobs.ts'
import { KnownPools } from '../../packages/server/src/jobs/pools.ts'
import { workersOnly } from '../../packages/server/src/jobs/target.ts'
import { PostgresLiveness } from '../../packages/server/src/liveness/postgres.ts'
import { Operations } from '../../packages/server/src/operations/operations.ts'
import { Operator } from '../../packages/server/src/operations/operator.ts'
import type { Signals } from '../../packages/server/src/signals/port.ts'
import { PostgresStatusReads } from '../../packages/server/src/status-reads/postgres.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { createPool } from '../../packages/server/src/store/pools/pools.ts'
import { Isolation } from '../../packages/server/src/store/quarantine/isolation.ts'
import { claimShards, type LedShard, renewLease, resign } from '../../packages/server/src/store/shards/claim.ts'
import { registerWorker, seeWorkers } from '../../packages/server/src/store/workers/register.ts'
import { Submissions } from '../../packages/server/src/submissions/submissions.ts'
import { Partitioner } from '../../packages/server/src/upkeep/partitioner.ts'
import { Sweeper } from '../../packages/server/src/upkeep/sweeper.ts'
import { HeldComparison } from '../../packages/server/src/workers/held-comparison.ts'
import { sweepEveryMs, workerLostMs } from './oracle/upkeep.ts'
import { RunLeader } from './run-leader.ts'

/** A quiet Sunday. After today, whenever that is: what SQL dates by its own clock must not come later. */
export const beginning = Date.UTC(2040, 0, 1)
export const tenant = 'acme'
/** Another one, with jobs only. */
export const otherTenant = 'beta'
export const shardCount = 4
export const pools = ['default', 'slow'] as const
const dayMs = 86_400_000

const deaf: Signals = { publish() {}, subscribe: () => () => {}, async start() {}, async stop() {} }
/** What is not emptied between two runs. The audit cannot be. */
const kept = ['migrations', 'function_texts', 'installation', 'secrets', 'shards', 'pools', 'audit']

export class Rig {
  readonly database: Database
  /** For transactions of a caller's own. */
  client!: pg.PoolClient
  readonly workers: string[] = []
  readonly clock = { now: () => this.#now() }
  jobs!: Jobs
  submissions!: Submissions
  executions!: Executions
  runs!: DagRuns
  runLeader!: RunLeader
  completion!: Completion
  operations!: Operations
  operator!: Operator
  comparison!: HeldComparison
  #sweeper!: Sweeper
  #failures!: FailureWatch
  /** What the leader believes, and what one believed that was replaced. */
  led: LedShard[] = []
  formerlyLed: LedShard[] = []
  #leaderId = ''
  #now: () => number = () => beginning
  #preparedUntil = 0
  #tags = 0
  #complaints: unknown[] = []

  constructor(url: string) {
    this.database = new Database({
      ...{ url, maxConnections: 4, statementTimeoutMs: 20_000, applicationName: 'model' },
      virtualNow: () => new Date(this.#now()),
    })
  }

  /** Builds the installation. */
  async install(): Promise<void> {
    const { database } = this
    this.client = await database.connect()
    await migrate(database, { shardCount, partitionHours: 24, retentionDays: 30 })
    await this.prepare()
    for (const name of pools) await createPool(database, { name, tenant: null, actor: 'model' })
  }

  /** Makes the partitions of the days ahead, if time has come near to where they end. */
  async prepare(): Promise<void> {
    const now = this.#now()
    if (now < this.#preparedUntil) return
    const clock = { now: this.#now }
    await new Partitioner({ database: this.database, clock, logger: this.#logger }).createMissing()
    this.#preparedUntil = now + dayMs
  }

  /** Begins anew on empty tables, by another clock. */
  async begin(now: () => number): Promise<void> {
    const { database } = this
    this.#now = now
    this.#tags = 0
    this.#complaints = []
    const tables = await database.query<{ name: string }>(
      null,
      `select 'carillon.' || c.relname name from pg_class c where c.relnamespace = 'carillon'::regnamespace
         and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> all ($1)`,
      [kept],
    )
    await database.query(null, `truncate ${tables.map(({ name }) => name).join(', ')}`)
    await database.query(
      null,
      `update carillon.shards set node_id = null, epoch = 0; update carillon.pools set paused = false;
       alter sequence carillon.lease_ids restart`,
    )
    this.#assemble()
    this.#leaderId = ''
    await this.elect()
    this.formerlyLed = this.led
    this.workers.length = 0
    for (let i = 0; i < 3; i++) this.workers.push(newId(beginning))
    for (const workerId of this.workers) await this.register(workerId)
  }

  #assemble(): void {
    const { database, clock } = this
    const [signals, logger] = [deaf, this.#logger]
    const tag = async (flows: readonly unknown[]) => flows.map(() => this.tag())
    const onDead = (ids: string[]) => this.#failures.died(ids)
    const pools = new KnownPools(database)
    const jobs = new Jobs({ database, signals, clock, tag, pools, targets: workersOnly })
    const submitter = new Submitter({ database, tag, signals })
    const statusReads = new PostgresStatusReads(database)
    const ends = new Ends({ statusReads, signals, logger })
    const completion = new Completion({
      database,
      signals,
      clock,
      isolation: new Isolation({ database, logger }),
      onDead,
    })
    this.jobs = jobs
    this.completion = completion
    this.submissions = new Submissions({ database, clock, jobs, submitter })
    this.executions = new Executions({ database, statusReads, signals, clock, jobs, ends })
    this.runs = new DagRuns({ database, clock, signals })
    this.runLeader = new RunLeader({ database, clock, signals, logger, tag: () => this.tag() })
    this.operator = new Operator({ database, signals, clock, logger, tag, everyMs: 1_000 })
    this.operations = new Operations({ database, clock, pools, wake() {} })
    this.comparison = new HeldComparison({ database, completion, see: (ids) => seeWorkers(database, ids) })
    this.#failures = new FailureWatch({ database, jobs, logger })
    this.#sweeper = new Sweeper({
      ...{ database, signals, logger, onDead, lostMs: workerLostMs },
      liveness: new PostgresLiveness({
        ...{ database, logger, everyMs: sweepEveryMs, lostMs: workerLostMs },
        keepAlive: { addWorker() {}, removeWorker() {} },
      }),
      end: async (held, said) =>
        (await completion.end({ ...held, actor: 'sweeper', from: 'NODE', said })) === 'ACCEPTED',
    })
  }

  /** The next place in the queue. */
  tag(): number {
    return ++this.#tags
  }

  /** Another node leads every shard. */
  async elect(): Promise<void> {
    const { database } = this
    if (this.#leaderId !== '') await resign(database, this.#leaderId)
    this.#leaderId = newId(this.#now())
    await renewLease(database, { nodeId: this.#leaderId, name: 'leader', leaseMs: 365 * dayMs })
    this.formerlyLed = this.led
    this.led = (await claimShards(database, this.#leaderId)).shards
  }

  async register(workerId: string): Promise<void> {
    const served = pools.map((pool) => ({ pool, handlers: ['work'], slots: 10 }))
    const worker = { workerId, nodeId: this.#leaderId, tenant: null, name: 'worker', pools: served }
    await registerWorker(this.database, worker)
  }

  sweep(): Promise<void> {
    return this.#sweeper.runOnce()
  }

  /** Until everything that goes on beside an answer is over. Throws if something went wrong there. */
  async settle(): Promise<void> {
    await this.completion.idle()
    await this.#failures.idle()
    if (this.#complaints.length > 0) throw new Error('Carillon logged an error', { cause: this.#complaints[0] })
  }

  async end(): Promise<void> {
    this.client.release()
    await this.database.end()
  }

  readonly #logger = {
    debug() {},
    info() {},
    warn: (fields: object) => {
      if ('err' in fields) this.#complaints.push(fields.err)
    },
    error: (fields: object, message: string) => {
      this.#complaints.push('err' in fields ? fields.err : message)
    },
  }
}
