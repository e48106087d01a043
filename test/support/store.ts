/**
 * The store on a database of its own, without a node around it: tests call its operations themselves and decide what
 * runs at the same time. Jobs have an occurrence every second, of which the last hour is still to fire, so FIRE never
 * has to be waited for.
 */
import type { LeasedExecution } from '@carillon/sdk'
import { Completion } from '../../packages/server/src/completion/completion.ts'
import { newId, occurrenceId, submissionId } from '../../packages/server/src/domain/identity.ts'
import { monotonicMs } from '../../packages/server/src/lib/clock.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import type { Signals } from '../../packages/server/src/signals/port.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { lease, leasedExecutions } from '../../packages/server/src/store/executions/lease.ts'
import { type AttemptEnd, type Reported, report } from '../../packages/server/src/store/executions/report.ts'
import { fireReturns, type ReturnSource, readDueReturns } from '../../packages/server/src/store/executions/returning.ts'
import { submit } from '../../packages/server/src/store/executions/submit.ts'
import { createWork } from '../../packages/server/src/store/jobs/create.ts'
import type { JobDefinition } from '../../packages/server/src/store/jobs/definition.ts'
import { readJob } from '../../packages/server/src/store/jobs/read.ts'
import { type TriggerVerdict, triggerJob } from '../../packages/server/src/store/jobs/trigger.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { Isolation } from '../../packages/server/src/store/quarantine/isolation.ts'
import type { JobRecord, StoredPolicy } from '../../packages/server/src/store/rows.ts'
import { type Fired, fire, type Move, type Occurrence } from '../../packages/server/src/store/schedules/fire.ts'
import { claimShards, type LedShard, renewLease } from '../../packages/server/src/store/shards/claim.ts'
import { VirtualLiveness } from '../../packages/server/src/testing/virtual-liveness.ts'
import { Partitioner } from '../../packages/server/src/upkeep/partitioner.ts'
import { Sweeper } from '../../packages/server/src/upkeep/sweeper.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { brokenInvariants, brokenOverlap } from './store-invariants.ts'

export const tenant = 'acme'
export const everyMs = 1_000
const clock = { now: monotonicMs }
const logger = createLogger('silent')
export const deaf: Signals = { publish() {}, subscribe: () => () => {}, async start() {}, async stop() {} }

/** In place of the thread that keeps the workers of a process alive. */
export const noThread = { addWorker() {}, removeWorker() {} }

export type JobOptions = Partial<JobDefinition> & { nominal?: number }

/** How an attempt ends, as the worker's node would have decided it. */
export function endOf(
  held: { executionId: string; fence: number },
  outcome: AttemptEnd['outcome'] = 'SUCCEEDED',
  more: Partial<AttemptEnd> = {},
): AttemptEnd {
  const next = outcome === 'SUCCEEDED' || outcome === 'CANCELLED' ? null : 'RETRY'
  return {
    ...{ executionId: held.executionId, fence: held.fence, outcome, next, reason: null },
    ...{ retryAt: next === 'RETRY' ? 1 : null, startedAt: null, result: null, error: null, progress: null },
    ...{ log: null, actor: 'worker', ...more },
  }
}

export async function openStore(options: { connections?: number; shardCount?: number } = {}): Promise<TestStore> {
  const home = await createDatabase()
  const database = connectTo(home.url, options.connections ?? 6)
  await migrate(database, { shardCount: options.shardCount ?? 4, partitionHours: 24, retentionDays: 30 })
  await new Partitioner({ database, clock, logger }).createMissing()
  // A deadlock that does happen is found at once instead of after a second.
  await database.query(null, `alter database ${home.name} set deadlock_timeout = '20ms'`)
  await database.end()
  const store = new TestStore(home, options.connections ?? 6)
  await store.lead()
  return store
}

function connectTo(url: string, maxConnections: number): Database {
  return new Database({ url, maxConnections, statementTimeoutMs: 20_000, applicationName: 'test' })
}

export class TestStore {
  readonly database: Database
  readonly workerId = newId(1)
  readonly url: string
  readonly completion: Completion
  /** The node that leads every shard, and the epochs it saw. */
  readonly leaderId = newId(2)
  led: LedShard[] = []
  readonly #home: TestDatabase
  readonly #connections: number
  #tag = 0

  constructor(home: TestDatabase, connections: number) {
    this.#home = home
    this.url = home.url
    this.#connections = connections
    this.database = connectTo(home.url, connections)
    const isolation = new Isolation({ database: this.database, logger })
    this.completion = new Completion({ database: this.database, signals: deaf, clock, isolation })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.end()
    await this.#home.drop()
  }

  async lead(): Promise<void> {
    await renewLease(this.database, { nodeId: this.leaderId, name: 'leader', leaseMs: 3_600_000 })
    this.led = (await claimShards(this.database, this.leaderId)).shards
  }

  tag(): number {
    return ++this.#tag
  }

  /** A sweeper for which every worker has been silent too long. */
  sweeper(): Sweeper {
    const keepAlive = noThread
    return new Sweeper({
      ...{ database: this.database, signals: deaf, logger, lostMs: 0 },
      liveness: new VirtualLiveness({ database: this.database, keepAlive, logger, everyMs: 1_000, lostMs: 30_000 }),
      end: async (held, said) =>
        (await this.completion.end({ ...held, actor: 'sweeper', from: 'NODE', said })) === 'ACCEPTED',
    })
  }

  async submit(count: number, policy: StoredPolicy | null = null, at = Date.now(), owner = tenant): Promise<string[]> {
    const items = Array.from({ length: count }, () => ({
      ...{
        executionId: submissionId(at),
        tenant: owner,
        name: null,
        pool: 'default',
        lane: 2,
        handler: 'h',
        runAt: at,
      },
      ...{ payload: null, policy, labels: null, traceparent: null },
    }))
    const tags = items.map(() => this.tag())
    await submit(this.database, items, tags)
    return items.map((item) => item.executionId)
  }

  async lease(slots: number, database = this.database): Promise<LeasedExecution[]> {
    const reading = { from: [0, 0, 0, 0], since: [0, 0, 0, 0], turn: 20 }
    const free = Array.from({ length: slots }, () => ({ workerId: this.workerId, prefetched: false }))
    const leased = await lease(database, 'default', reading, free)
    return leased.flatMap(({ executions }) => leasedExecutions(executions))
  }

  report(ends: AttemptEnd[]): Promise<Reported> {
    return report(this.database, ends)
  }

  /** Reports until nothing is BUSY any more. */
  async settle(ends: AttemptEnd[]): Promise<void> {
    for (let left = ends; left.length > 0; ) {
      const { verdicts } = await report(this.database, left)
      left = left.filter((_, i) => verdicts[i] === 'BUSY')
    }
  }

  /** A job that fires every second; the next occurrence is an hour ago unless `nominal` says otherwise. */
  async job(options: JobOptions = {}): Promise<string> {
    const { jobId = newId(Date.now()), nominal, ...fields } = options
    const first = nominal ?? Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000
    const definition: JobDefinition = {
      ...{ jobId, tenant, name: 'job', type: 'INTERVAL', runAt: null, runAtLocal: null, delayMs: null, after: null },
      schedule: null,
      ...{ interval: 'PT1S', timezone: 'UTC', dst: { gap: 'SHIFT', overlap: 'FIRST' }, dayFields: 'EITHER' },
      ...{ anchor: new Date(first).toISOString(), startAt: null, endAt: null, maxFires: null, jitterSec: 0 },
      ...{ misfire: 'FIRE_ALL', misfireAfterSec: 60, maxCatchUp: 1000, graceSec: null, startWithinSec: null },
      ...{ deadlineSec: null, overlap: 'ALLOW', pool: 'default', lane: 2, handler: 'h', payload: null, policy: null },
      ...{ labels: null, key: null, managedBy: null, ...fields },
    }
    const job = { definition, nominal: first, due: first, createdAt: Date.now() }
    await createWork(this.database, { jobs: [job], actor: 'test' })
    return jobId
  }

  readJob(jobId: string): Promise<JobRecord | null> {
    return readJob(this.database, tenant, jobId)
  }

  /** What a leader would ask FIRE for: the next `count` occurrences of a job as it was read. */
  plan(job: JobRecord, count = 1): { move: Move; occurrences: Occurrence[] } {
    const { definition, version, nominal, due } = job
    const times = Array.from({ length: count }, (_, i) => nominal! + i * everyMs)
    const next = definition.type === 'INTERVAL' ? nominal! + count * everyMs : null
    return {
      move: { jobId: definition.jobId, version, due: due!, nextNominal: next, nextDue: next, fires: count },
      occurrences: times.map((at) => ({
        ...{ jobId: definition.jobId, executionId: occurrenceId(definition.jobId, at), nominal: at, due: at },
        ...{ tag: this.tag(), skip: null },
      })),
    }
  }

  /** Reads the jobs and fires `count` occurrences of each in one call; paused and finished ones are left out. */
  async fire(jobIds: string[], count = 1): Promise<Fired> {
    const jobs = await Promise.all(jobIds.map((id) => this.readJob(id)))
    const plans = jobs.filter((job) => job?.due != null).map((job) => this.plan(job!, count))
    return this.fireAs(
      this.led,
      plans.map((p) => p.move),
      plans.flatMap((p) => p.occurrences),
    )
  }

  fireAs(led: LedShard[], moves: Move[], occurrences: Occurrence[]): Promise<Fired> {
    return fire(this.database, led, moves, occurrences)
  }

  /** Brings everything that waits for a retry back to `ready`. */
  async fireReturns(source: ReturnSource = 'retries'): Promise<string[]> {
    const window = { shards: this.led.map((s) => s.shard), from: 0, until: Date.now() + 86_400_000, limit: 10_000 }
    const items = await readDueReturns(this.database, source, window)
    const tagged = items.map(({ executionId }) => ({ executionId, tag: this.tag() }))
    return (await fireReturns(this.database, source, this.led, tagged)).moved
  }

  async trigger(jobId: string): Promise<{ executionId: string; verdict: TriggerVerdict }> {
    const at = Date.now()
    const executionId = submissionId(at)
    const version = (await this.readJob(jobId))?.version ?? 0
    const trigger = { jobId, version, executionId, at, tag: this.tag(), payload: null, traceparent: null }
    return { executionId, verdict: await triggerJob(this.database, { ...trigger, actor: 'test', entry: null }) }
  }

  /** The unfinished executions of a job, and where each stands. */
  unfinished(jobId: string): Promise<{ id: string; place: string }[]> {
    return this.database.query(
      null,
      `select e.execution_id id, case when exists (select from carillon.running r where r.execution_id = e.execution_id)
           then 'running' when exists (select from carillon.waiting w where w.execution_id = e.execution_id) then 'waiting'
           when exists (select from carillon.retries t where t.execution_id = e.execution_id) then 'retries' else 'ready' end place
       from carillon.executions e where e.job_id = $1 and e.state is null order by e.execution_id`,
      [jobId],
    )
  }

  /** Fails if an execution is in two places or in none, if the ledger contradicts itself, or if a job overlaps. */
  async assertOnePlace(): Promise<void> {
    const sql = `${brokenInvariants} union all ${brokenOverlap}`
    const broken = await this.database.query<{ execution_id: string; problem: string }>('invariants', sql)
    if (broken.length === 0) return
    throw new Error(broken.map(({ execution_id, problem }) => `${execution_id}: ${problem}`).join('\n'))
  }

  /** Forgets what has ended, which keeps the checks of a long race short. */
  async forgetEnded(): Promise<void> {
    await this.database.query(
      null,
      'delete from carillon.executions where state is not null; delete from carillon.endings; delete from carillon.log_lines',
    )
  }

  /** Forgets every execution; jobs stay where their schedules stand. */
  async clear(): Promise<void> {
    const tables = ['executions', 'endings', 'log_lines', 'ready', 'leases', 'lease_notes', 'completions'].concat(
      'retries',
      'waiting',
      'deadlines',
      'submissions',
      'blocked',
      'dag_steps',
      'dag_runs',
      'limit_holds',
      'limit_changes',
      'limit_refunds',
      'limit_keys',
    )
    const deletes = tables.map((table) => `delete from carillon.${table}`)
    const lives = 'update carillon.schedules set live = null where live is not null'
    await this.database.query(null, [...deletes, lives].join(';'))
  }

  /** Deadlocks the server has found in this database so far, including those that were retried. */
  async deadlocks(): Promise<number> {
    // Each connection keeps its own count until it is told to hand it in; those that a pooler lends cannot be told.
    const reached = (await isBehindPooler()) ? 1 : this.#connections
    const all = await Promise.all(Array.from({ length: reached }, () => this.database.connect()))
    for (const client of all) await client.query('select pg_stat_force_next_flush()')
    for (const client of all) client.release()
    const rows = await this.database.query<{ deadlocks: number }>(
      null,
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    return rows[0]!.deadlocks
  }
}

async function isBehindPooler(): Promise<boolean> {
  const { inject } = await import('vitest')
  return inject('pgbouncerPort') !== undefined
}
