/** An installation with something in it that belongs to tenant A, and a request for every operation of the API. */
import { type Scope, scopes } from '@carillon/contract'
import { type ApiOperation, api } from '@carillon/contract/api'
import pg from 'pg'
import { type Asked, type HttpNode, httpNode } from '../../support/http-node.ts'
import { jwtSecret, token } from './auth-server.ts'

/** The operations as a table that does not know how each differs. */
export const operations: [string, ApiOperation][] = Object.entries(api)

/** What nobody but A may ever see. */
export const secrets = {
  name: 'name-of-a-9c41',
  payload: 'payload-of-a-9c41',
  handler: 'handler-of-a-9c41',
  pool: 'pool-of-a-9c41',
  worker: 'worker-of-a-9c41',
  tenant: 'tenant-a-9c41',
  limit: 'limit-of-a-9c41',
}

export interface Stage {
  node: HttpNode
  /** Ids of A's things, by the name of the parameter that takes them. */
  ids: Record<string, string>
  /** What A's worker holds. */
  held: { executionId: string; fence: number }
  asA: Record<string, string>
  asB: Record<string, string>
  [Symbol.asyncDispose](): Promise<void>
}

export async function stage(): Promise<Stage> {
  // Nobody reports for A's worker: it must not be lost while the test runs.
  const node = await httpNode({ auth: { jwtSecret }, engine: { workerLostMs: 3_000_000 } })
  const asA = await bearer({ tenant: secrets.tenant })
  const asB = await bearer({ tenant: 'tenant-b' })
  const must = async (what: string, body?: unknown) => {
    const answer = await node.ask(what, body, asA)
    if (answer.status >= 300) throw new Error(`${what}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const target = { pool: secrets.pool, handler: secrets.handler }
  const base = { name: secrets.name, target, payload: { text: secrets.payload } }
  const pools = [{ pool: secrets.pool, handlers: [secrets.handler], slots: 1 }]
  const { workerId } = await must('POST /v1/workers', { name: secrets.worker, pools })
  await must('POST /v1/jobs', { ...base, type: 'ONE_SHOT' })
  const { executions } = await must(`POST /v1/workers/${workerId}/lease`, { pool: secrets.pool, slots: 1 })
  const { jobId } = await must('POST /v1/jobs', { ...base, type: 'CRON', schedule: '0 3 1 1 *' })
  const { jobId: executionId } = await must('POST /v1/jobs', { ...base, type: 'ONE_SHOT' })
  const { operationId } = await must('POST /v1/executions/cancel', { filter: { handler: 'of-nobody' } })
  const { keyId } = await must('POST /v1/tokens', { name: secrets.name, scopes: ['jobs:read'] })
  const steps = [{ name: secrets.name, target, payload: secrets.payload }]
  const { dagId } = await must('POST /v1/dags', { name: secrets.name, steps })
  const { runId } = await must(`POST /v1/dags/${dagId}/runs`, { payload: secrets.payload })
  await must(`PUT /v1/limits/${secrets.limit}`, { concurrency: 7 })
  await declare(node)
  const quarantineId = await quarantinedRow(node.databaseUrl, executionId)
  return {
    node,
    ids: {
      jobId,
      executionId,
      operationId,
      workerId,
      quarantineId,
      keyId,
      dagId,
      runId,
      step: secrets.name,
      name: secrets.pool,
      tenant: secrets.tenant,
      limit: secrets.limit,
    },
    held: { executionId: executions[0].executionId, fence: executions[0].fence },
    asA,
    asB,
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  }
}

/** Tenants are declared by the operator; A is one. */
async function declare(node: HttpNode): Promise<void> {
  const { status } = await node.ask(`PUT /v1/tenants/${secrets.tenant}`, { weight: 7 }, await bearer({ tenant: '*' }))
  if (status !== 201) throw new Error(`the tenant was not declared: ${status}`)
}

/** A row of A's that was set aside. */
export async function quarantinedRow(databaseUrl: string, executionId: string): Promise<string> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const { rows } = await client.query(
    `insert into carillon.quarantine (quarantine_id, source, key, tenant, execution_id, call, code, message, content)
     overriding system value
     values (914027365518, 'deadlines', jsonb_build_object('execution_id', $2::text, 'kind', 'START'), $1, $2::uuid, 'test', '22P02', $3,
       jsonb_build_object('execution_id', $2::text, 'kind', 'START', 'due', now()))
     returning quarantine_id id`,
    [secrets.tenant, executionId, secrets.payload],
  )
  await client.end()
  return String(rows[0].id)
}

/** Everything is allowed unless told otherwise. */
export async function bearer({ tenant, but, exp }: { tenant: string; but?: Scope; exp?: number }) {
  const claims = {
    tenant,
    scopes: scopes.filter((scope) => scope !== but),
    scope: '',
    ...(exp !== undefined && { exp }),
  }
  return { authorization: `Bearer ${await token(claims)}` }
}

/** Sends an operation with A's ids in its path and a body that it takes. */
export function send(
  { node, ids }: Stage,
  [operationId, { method, path, body }]: [string, ApiOperation],
  headers: Record<string, string>,
): Promise<Asked> {
  const address = path.replace(/:(\w+)/g, (_, name: string) => {
    const id = ids[name]
    if (id === undefined) throw new Error(`${operationId} has a parameter ${name}: put one of A’s on the stage`)
    return id
  })
  return node.ask(`${method} ${address}${queries[operationId] ?? ''}`, body && bodyFor(operationId), headers)
}

const definition = { type: 'CRON', schedule: '0 4 1 1 *', target: { pool: 'default', handler: 'of-b' } }
/** Everything, were it not for the tenant. */
const filter = { from: '2020-01-01T00:00:00Z' }

/** What would not end by itself is asked to; what must be given is. */
const queries: Record<string, string> = { streamEvents: '?waitSec=0', verify: '?from=2020-01-01T00:00:00Z' }

const steps = [{ name: 'of-b', target: { handler: 'of-b' } }]

const bodies: Record<string, unknown> = {
  createJob: definition,
  createJobs: { jobs: [definition] },
  checkJobs: { jobs: [definition] },
  replaceJob: definition,
  patchJob: { priority: 'LOW' },
  triggerJob: {},
  backfillJob: { from: '2020-01-01T00:00:00Z', to: '2030-01-01T00:00:00Z' },
  previewSchedule: { type: 'CRON', schedule: '0 4 1 1 *' },
  completeExecution: { outcome: 'SUCCEEDED' },
  cancelExecutions: { filter },
  retryExecutions: { filter },
  copyExecutions: { filter, pool: 'default' },
  replayDeadLetters: { filter },
  purgeDeadLetters: { filter },
  registerWorker: { name: 'of-b', pools: [{ pool: 'pool-of-b', handlers: ['of-b'], slots: 1 }] },
  leaseExecutions: { pool: secrets.pool, slots: 1, waitMs: 0 },
  reportExecutions: { held: [] },
  createToken: { name: 'of-b', scopes: ['jobs:read'] },
  createDag: { steps },
  replaceDag: { steps },
  runDag: {},
  runSteps: { steps },
  signalStep: {},
  putLimit: { concurrency: 2 },
  putTenant: { weight: 2 },
  createPool: { name: 'another-pool-of-b' },
}

function bodyFor(operationId: string): unknown {
  if (operationId in bodies) return bodies[operationId]
  throw new Error(`${operationId} takes a body: write one down in test/integration/http/every-route-stage.ts`)
}
