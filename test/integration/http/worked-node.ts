/** A node that is asked over HTTP and has a worker, and a way to put history into its ledger. */
import { type Carillon, createCarillon, defineHandler } from '@carillon/server'
import pg from 'pg'
import { submissionId } from '../../../packages/server/src/domain/identity.ts'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

/** Answers, throws or stays, as the payload says. */
export const act = defineHandler<{ how: 'answer' | 'throw' | 'stay'; value?: unknown }>({ name: 'act' })

export interface WorkedNode extends HttpNode {
  sql: pg.Pool
  worker: Carillon
  /** Handlers that stay are let go. */
  letGo(): void
  submit(payload: object, more?: object, headers?: Record<string, string>): Promise<string>
  /** Waits until the execution is in one of these states. */
  reach(executionId: string, ...states: string[]): Promise<Record<string, unknown>>
  /** Writes ended executions into the ledger, oldest first; answers their ids. */
  seed(count: number, columns?: Partial<Seed>): Promise<string[]>
}

export interface Seed {
  tenant: string
  state: 'SUCCEEDED' | 'DEAD' | 'CANCELLED'
  handler: string
  pool: string
  error: string
  labels: Record<string, string>
  /** Of the newest one; each is a millisecond older than the next. A second ago: the node's clock is not this one. */
  at: number
}

export async function workedNode(): Promise<WorkedNode> {
  const node = await httpNode({ engine: quickTimes })
  const sql = new pg.Pool({ connectionString: node.databaseUrl, max: 2 })
  const staying = new Set<() => void>()
  const worker = await createCarillon({ databaseUrl: node.databaseUrl, logLevel: 'fatal', ...quickTimes })
  worker.handle(act, { concurrency: 20 }, async (ctx) => {
    ctx.log('first')
    ctx.log('second')
    if (ctx.payload.how === 'throw') throw new TypeError('it is thrown')
    if (ctx.payload.how === 'stay') {
      await new Promise<void>((resolve) => {
        staying.add(resolve)
        ctx.signal.addEventListener('abort', () => resolve())
      })
      ctx.signal.throwIfAborted()
    }
    return ctx.payload.value ?? null
  })
  await worker.start()
  const letGo = () => {
    for (const go of staying) go()
    staying.clear()
  }
  return {
    ...node,
    sql,
    worker,
    letGo,
    async submit(payload, more = {}, headers = {}) {
      const body = { name: 'n', type: 'ONE_SHOT', target: { pool: 'default', handler: 'act' }, payload, ...more }
      const answer = await node.ask('POST /v1/jobs', body, headers)
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      return answer.body.jobId
    },
    async reach(executionId, ...states) {
      let seen: Record<string, unknown> = {}
      await until(async () => {
        seen = (await node.ask(`GET /v1/executions/${executionId}`)).body
        return states.includes(seen.state as string)
      })
      return seen
    },
    seed: (count, columns) => seed(sql, count, columns),
    async [Symbol.asyncDispose]() {
      letGo()
      await worker.stop({ drainSec: 1 })
      await sql.end()
      await node[Symbol.asyncDispose]()
    },
  }
}

export async function seed(sql: pg.Pool | pg.Client, count: number, columns: Partial<Seed> = {}): Promise<string[]> {
  const { tenant = 'default', state = 'DEAD', handler = 'act', pool = 'default', error = 'TypeError' } = columns
  const { labels = {}, at = Date.now() - 1_000 } = columns
  const ids = Array.from({ length: count }, (_, i) => submissionId(at - count + 1 + i))
  await sql.query(
    `with born as (
       insert into carillon.executions (execution_id, job_id, tenant, pool, lane, handler, tag, origin, scheduled_for, due_at,
         fired_at, payload, labels, state, attempt, started_at, finished_at, error)
       select i, i, $2, $3, 2, $4, 0, 'SUBMIT', x.at, x.at, x.at, '{"how":"answer"}', $5, $6, 1, x.at, x.at,
         case when $6 = 'DEAD' then jsonb_build_object('name', $7::text, 'message', 'seeded') end
       from unnest($1::uuid[]) i cross join lateral (
         select carillon.at(('x' || lpad(left(replace(i::text, '-', ''), 12), 16, '0'))::bit(64)::bigint) at) x
       returning execution_id, tenant, state)
     insert into carillon.endings select * from born where state <> 'SUCCEEDED'`,
    [ids, tenant, pool, handler, labels, state, error],
  )
  return ids
}
