/** The store with a worker and a sweeper, none of them in a hurry: a test says how much time has passed. */
import type { LeasedExecution } from '@carillon/sdk'
import type pg from 'pg'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { TimeBudget } from '../../../packages/server/src/lib/time-budget.ts'
import { PostgresLiveness } from '../../../packages/server/src/liveness/postgres.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { lease, leasedExecutions } from '../../../packages/server/src/store/executions/lease.ts'
import { type ExecutionRecord, readExecution } from '../../../packages/server/src/store/executions/read.ts'
import type { StoredPolicy } from '../../../packages/server/src/store/rows.ts'
import { registerWorker } from '../../../packages/server/src/store/workers/register.ts'
import { longestPauseMs, Sweeper } from '../../../packages/server/src/upkeep/sweeper.ts'
import { noThread, openStore, type TestStore, tenant } from '../../support/store.ts'
import { until } from '../../support/until.ts'

export const lostMs = 30_000
const usual = { lostMs, everyMs: 1_000 }

/** Comes back at once when an attempt failed. */
export const atOnce: StoredPolicy = { retryPolicy: { initialDelayMs: 0, jitter: 0 } }

export class Swept {
  readonly store: TestStore
  /** The time by which the sweeper knows how long workers could be heard: for long. */
  now = Date.UTC(2026, 0, 1)
  /** What a look at all that runs takes it. The watch goes on meanwhile: it has a loop of its own. */
  lookMs = 0
  #looked = 0
  readonly #sweeper: Sweeper
  readonly #liveness: PostgresLiveness
  readonly #everyMs: number

  constructor(store: TestStore, times = usual) {
    this.store = store
    this.#everyMs = times.everyMs
    const { database } = store
    const logger = createLogger('silent')
    this.#liveness = new PostgresLiveness({
      ...{ database, keepAlive: noThread, logger, ...times },
      now: () => new Date(this.now),
    })
    this.#sweeper = new Sweeper({
      ...{ database, logger, lostMs: times.lostMs, liveness: this.#liveness },
      signals: { publish() {}, subscribe: () => () => {}, async start() {}, async stop() {} },
      looks: new TimeBudget({
        share: 0.05,
        longestPauseMs: longestPauseMs(times.lostMs),
        monotonic: () => {
          this.#looked += this.lookMs
          return this.now + this.#looked
        },
      }),
      end: async (held, said) =>
        (await store.completion.end({ ...held, actor: 'sweeper', from: 'NODE', said })) === 'ACCEPTED',
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]()
  }

  query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.store.database.query<Row>(null, text, values)
  }

  /** A worker heard of just now. */
  async worker(): Promise<string> {
    const workerId = newId(Date.now())
    await registerWorker(this.store.database, { workerId, nodeId: newId(1), tenant: null, name: 'worker', pools: [] })
    return workerId
  }

  /** Submits one execution and leases it; `ahead`: before there was a free slot for it. */
  async leased(workerId: string, policy: StoredPolicy = atOnce, ahead = false): Promise<LeasedExecution> {
    await this.store.submit(1, policy)
    return (await this.lease(workerId, ahead))!
  }

  async lease(workerId: string, ahead = false): Promise<LeasedExecution | undefined> {
    const reading = { from: [0, 0, 0, 0], since: [0, 0, 0, 0], turn: 20 }
    const [leased] = await lease(this.store.database, 'default', reading, [{ workerId, prefetched: ahead }])
    return leased && leasedExecutions(leased.executions)[0]
  }

  /** Leases it once more when it has come back. */
  async leasedAgain(workerId: string, ahead = false): Promise<LeasedExecution> {
    let again: LeasedExecution | undefined
    await until(async () => {
      await this.store.fireReturns()
      again = await this.lease(workerId, ahead)
      return again !== undefined
    })
    return again!
  }

  async execution(executionId: string): Promise<ExecutionRecord> {
    return (await readExecution(this.store.database, tenant, executionId))!
  }

  /** The worker is not heard of for a time, while the sweeper goes on. */
  async silence(workerId: string, ms: number): Promise<void> {
    await this.query(
      `update carillon.workers set seen_at = seen_at - $2 * interval '1 millisecond' where worker_id = $1`,
      [workerId, ms],
    )
  }

  /** Time passes for everything that runs or waits. */
  async age(ms: number): Promise<void> {
    const by = `- $1 * interval '1 millisecond'`
    await this.query(`update carillon.leases set leased_at = leased_at ${by}, overdue_at = overdue_at ${by}`, [ms])
    await this.query(
      `update carillon.lease_notes set overdue_at = overdue_at ${by}, heartbeat_at = heartbeat_at ${by}`,
      [ms],
    )
    await this.query(`update carillon.deadlines set due = due ${by}`, [ms])
    await this.query(
      `update carillon.executions set expires_at = expires_at ${by}, deadline_at = deadline_at ${by} where state is null`,
      [ms],
    )
  }

  /** The sweeper has been at it for `ms` without a gap. */
  async watch(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= this.#everyMs) {
      this.now += Math.min(left, this.#everyMs)
      await this.sweep()
    }
  }

  /** This node could hear workers, and does not sweep. */
  async hear(): Promise<void> {
    await this.#liveness.listeningMs()
  }

  sweep(options?: { sparing: boolean }): Promise<void> {
    return this.#sweeper.runOnce(options)
  }
}

export async function openSwept(): Promise<Swept> {
  return watching(await openStore({ shardCount: 1 }))
}

/** A sweeper that has watched for as long as a worker may be silent. */
export async function watching(store: TestStore, times = usual): Promise<Swept> {
  const swept = new Swept(store, times)
  await swept.sweep()
  await swept.watch(times.lostMs)
  return swept
}
