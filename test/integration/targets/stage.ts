/**
 * A node with built-in targets on a database of its own, with its engine in the open: names can be resolved by the test,
 * and only what targets need is listening.
 */
import type { JobInput } from '@carillon/contract'
import pg from 'pg'
import { engineConfig } from '../../../packages/server/src/config/engine-config.ts'
import { type TargetSettings, targetConfig } from '../../../packages/server/src/config/target-config.ts'
import { anonymousAuthenticator } from '../../../packages/server/src/http/auth/anonymous.ts'
import { completeExecution } from '../../../packages/server/src/http/routes/executions/complete.ts'
import { HttpServer } from '../../../packages/server/src/http/server.ts'
import { Engine } from '../../../packages/server/src/main.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import type { ExecutionRecord } from '../../../packages/server/src/store/executions/read.ts'
import { builtInWorker } from '../../../packages/server/src/targets/built-in-worker.ts'
import { OperatorRules } from '../../../packages/server/src/targets/target-rules.ts'
import { directTransport } from '../../../packages/server/src/workers/direct-transport.ts'
import { quickTimes } from '../../support/carillon.ts'
import { type Asked, ask } from '../../support/http-node.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const owner = { tenant: 'acme', actor: 'a person' }

export interface Stage {
  engine: Engine
  sql: pg.Pool
  /** Submits one execution, due now; answers its id. */
  submit(target: JobInput['target'], more?: Partial<JobInput>, payload?: unknown): Promise<string>
  read(executionId: string): Promise<ExecutionRecord>
  logs(executionId: string): Promise<string[]>
  /** The execution once it is in this state. */
  reaches(executionId: string, state: ExecutionRecord['state']): Promise<ExecutionRecord>
  /** As a service outside would. */
  complete(executionId: string, token: string | null, body: unknown): Promise<Asked>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openStage(targets: TargetSettings): Promise<Stage> {
  const database = await createDatabase()
  const logger = createLogger('error')
  const config = targetConfig(targets)
  const rules = new OperatorRules(config)
  const engine = new Engine(engineConfig({ databaseUrl: database.url, ...quickTimes }), logger, { targets: rules })
  const transport = directTransport(engine, { exact: true })
  const worker = await builtInWorker({
    ...{ config, rules, tokens: engine.tokens, runs: engine.startedRuns, transport, name: 'built-in', logger },
  })
  const http = new HttpServer({
    ...{
      host: '127.0.0.1',
      port: 0,
      requestTimeoutMs: 30_000,
      services: engine,
      routes: { completeExecution },
      logger,
    },
    authenticator: anonymousAuthenticator({ loopbackOnly: true }),
  })
  await engine.start()
  await worker.start()
  await http.start()
  const sql = new pg.Pool({ connectionString: database.url, max: 2 })
  const read = (executionId: string) => engine.executions.read(owner.tenant, executionId)
  return {
    engine,
    sql,
    read,
    async submit(target, more, payload = null) {
      const input: JobInput = { type: 'ONE_SHOT', target, ...more }
      const { job } = await engine.submissions.create(owner, input, JSON.stringify(payload))
      return job.definition.jobId
    },
    logs: async (executionId) =>
      (await engine.executions.logs(owner.tenant, executionId)).lines.map(({ text }) => text),
    async reaches(executionId, state) {
      await until(async () => (await read(executionId)).state === state)
      return read(executionId)
    },
    complete: (executionId, token, body) =>
      ask(
        http.url,
        `POST /v1/executions/${executionId}/complete`,
        body,
        token === null ? {} : { 'carillon-token': token },
      ),
    async [Symbol.asyncDispose]() {
      await http.stop()
      await worker.stop()
      await engine.stop()
      await sql.end()
      await database.drop()
    },
  }
}
