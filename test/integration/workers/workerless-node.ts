/** A node without a worker of its own: tests call it as a worker would. */
import type { HeldExecution, LeasedExecution, ReportAnswer, WorkerReport } from '@carillon/sdk'
import pg from 'pg'
import { engineConfig } from '../../../packages/server/src/config/engine-config.ts'
import { newId, submissionId } from '../../../packages/server/src/domain/identity.ts'
import { Engine } from '../../../packages/server/src/main.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { leasedExecutions } from '../../../packages/server/src/store/executions/lease.ts'
import { type ExecutionRecord, readExecution } from '../../../packages/server/src/store/executions/read.ts'
import type { StoredPolicy } from '../../../packages/server/src/store/rows.ts'
import { createDatabase } from '../../support/postgres.ts'

const tenant = 'acme'

export class WorkerlessNode {
  readonly engine: Engine
  readonly sql: pg.Client
  readonly url: string
  /** The time by which the node limits its own looks at what workers hold. It hardly moves: tests look by hand. */
  now = 1_000_000
  /** By how much it moves while a look is taken. */
  lookMs = 1
  readonly #drop: () => Promise<void>

  constructor(url: string, drop: () => Promise<void>) {
    const config = engineConfig({ databaseUrl: url, pollMs: 50, shardCount: 4 })
    const monotonic = () => {
      this.now += this.lookMs
      return this.now
    }
    this.engine = new Engine(config, createLogger('error'), { parts: { monotonic } })
    this.url = url
    this.sql = new pg.Client({ connectionString: url })
    this.#drop = drop
  }

  async start(): Promise<void> {
    await this.engine.start()
    await this.sql.connect()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql.end()
    await this.engine.stop()
    await this.#drop()
  }

  async register(pools = ['default']): Promise<string> {
    const workerId = newId(Date.now())
    const announced = pools.map((pool) => ({ pool, handlers: ['h'], slots: 10 }))
    await this.engine.workerSessions.register({ workerId, name: 'by hand', pools: announced })
    return workerId
  }

  async submit(policy: StoredPolicy | null = null): Promise<string> {
    const runAt = Date.now()
    const executionId = submissionId(runAt)
    await this.engine.submitter.submit({
      ...{ executionId, tenant, name: null, pool: 'default', lane: 2, handler: 'h', runAt },
      ...{ payload: '{}', policy, labels: null, traceparent: null },
    })
    return executionId
  }

  async lease(workerId: string, slots = 1, signal = new AbortController().signal): Promise<LeasedExecution[]> {
    const request = { workerId, pool: 'default', slots, prefetch: 0, waitMs: 10_000 }
    return leasedExecutions(await this.engine.workerSessions.lease(request, signal))
  }

  /** One execution, leased. */
  async held(workerId: string, policy: StoredPolicy | null = null): Promise<LeasedExecution> {
    await this.submit(policy)
    return (await this.lease(workerId))[0]!
  }

  report(workerId: string, said: Partial<WorkerReport>): Promise<ReportAnswer> {
    return this.engine.workerSessions.report({ workerId, outcomes: [], began: [], progress: [], held: null, ...said })
  }

  /** A report with everything the worker holds, compared with what the database says it does. */
  async heartbeat(workerId: string, held: HeldExecution[], said: Partial<WorkerReport> = {}): Promise<ReportAnswer> {
    const answer = await this.report(workerId, { ...said, held })
    await this.engine.byHand.compareHeld()
    return answer
  }

  async execution(executionId: string): Promise<ExecutionRecord> {
    return (await readExecution(this.engine.database, tenant, executionId))!
  }
}

export async function startWorkerlessNode(): Promise<WorkerlessNode> {
  const database = await createDatabase()
  const node = new WorkerlessNode(database.url, () => database.drop())
  await node.start()
  return node
}
