/** The audit: every verb that changes something is in it, nobody can fill it, and only the owner of the schema says how long it is kept. */
import { randomUUID } from 'node:crypto'
import { keepAudit } from '@carillon/server/administration'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sumUpRefusals } from '../../packages/server/src/store/audit/refusals.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { AuditKeeper } from '../../packages/server/src/upkeep/audit-keeper.ts'
import {
  bearer,
  operations,
  quarantinedRow,
  type Stage,
  secrets,
  send,
  stage,
} from '../integration/http/every-route-stage.ts'
import { seed } from '../integration/http/worked-node.ts'
import type { Asked } from '../support/http-node.ts'
import { until } from '../support/until.ts'

let on: Stage
let sql: pg.Client
let database: Database
beforeAll(async () => {
  on = await stage()
  sql = new pg.Client(on.node.databaseUrl)
  await sql.connect()
  database = new Database({
    url: on.node.databaseUrl,
    maxConnections: 2,
    statementTimeoutMs: 30_000,
    applicationName: 'test',
  })
})
afterAll(async () => {
  await sql.end()
  await database.end()
  await on[Symbol.asyncDispose]()
})

/** What each verb writes, in an order in which all of them succeed. */
const audited: Record<string, string> = {
  createDag: 'dag.created',
  replaceDag: 'dag.updated',
  pauseDagRun: 'dag_run.paused',
  resumeDagRun: 'dag_run.resumed',
  cancelDagRun: 'dag_run.cancelled',
  retryDagRun: 'dag_run.retried',
  signalStep: 'dag_run.signalled',
  deleteDag: 'dag.deleted',
  createJob: 'job.created',
  createJobs: 'job.created',
  replaceJob: 'job.updated',
  patchJob: 'job.updated',
  pauseJob: 'job.paused',
  resumeJob: 'job.resumed',
  triggerJob: 'job.triggered',
  backfillJob: 'operation.created',
  cancelExecution: 'execution.cancelled',
  retryExecution: 'execution.retried',
  cancelExecutions: 'operation.created',
  retryExecutions: 'operation.created',
  copyExecutions: 'operation.created',
  replayDeadLetters: 'operation.created',
  purgeDeadLetters: 'operation.created',
  purgeDeadLetter: 'execution.purged',
  registerWorker: 'pool.created',
  createPool: 'pool.created',
  pausePool: 'pool.paused',
  resumePool: 'pool.resumed',
  deletePool: 'pool.deleted',
  deleteJob: 'job.deleted',
  releaseQuarantined: 'quarantine.released',
  discardQuarantined: 'quarantine.discarded',
  createToken: 'api_key.created',
  revokeToken: 'api_key.revoked',
  putLimit: 'limit.updated',
  deleteLimit: 'limit.deleted',
  putTenant: 'tenant.created',
  deleteTenant: 'tenant.deleted',
}
/** These are about the installation. */
const ofNoTenant = new Set(['putTenant', 'deleteTenant'])
const argued: Record<string, string> = {
  previewSchedule: 'changes nothing',
  runDag: 'the run is its own record, as a submission is',
  runSteps: 'the run is its own record, as a submission is',
  checkJobs: 'changes nothing',
  completeExecution: 'the ledger has it; a refused token is in the audit',
  leaseExecutions: 'the ledger has it, with worker and fence',
  reportExecutions: 'the ledger has it; a refused report is in the audit',
  deregisterWorker: 'a worker comes and goes with every deploy; what it held has the hand-back in its history',
  cancelOperation: 'operation.cancelled, if it still runs: test/integration/http/operations-bulk.test.ts',
}

/** What would be refused as every-route-stage.ts asks for it. */
const special: Record<string, () => Promise<Asked>> = {
  backfillJob: () => {
    const range = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() - 60_000) }
    return on.node.ask(`POST /v1/jobs/${on.ids.jobId}/backfill`, range, on.asA)
  },
  releaseQuarantined: () => ofQuarantine('release'),
  discardQuarantined: () => ofQuarantine('discard'),
  deletePool: () => on.node.ask('DELETE /v1/pools/another-pool-of-b', undefined, on.asA),
  replaceDag: () => {
    const steps = [{ name: 'other', target: { pool: secrets.pool, handler: secrets.handler } }]
    return on.node.ask(`PUT /v1/dags/${on.ids.dagId}`, { steps }, on.asA)
  },
  retryDagRun: async () => {
    const { runId } = on.ids
    await until(
      async () => (await on.node.ask(`GET /v1/dag-runs/${runId}`, undefined, on.asA)).body.state === 'CANCELLED',
    )
    return on.node.ask(`POST /v1/dag-runs/${runId}/retry`, undefined, on.asA)
  },
  signalStep: async () => {
    const { body } = await on.node.ask('POST /v1/dag-runs', { steps: [{ name: 'a', waitFor: 'SIGNAL' }] }, on.asA)
    const path = `/v1/dag-runs/${body.runId}`
    await until(async () => (await on.node.ask(`GET ${path}`, undefined, on.asA)).body.steps[0].state === 'RUNNING')
    return on.node.ask(`POST ${path}/steps/a/signal`, {}, on.asA)
  },
  purgeDeadLetter: async () => {
    const [dead] = await seed(sql, 1, { tenant: secrets.tenant })
    return on.node.ask(`DELETE /v1/dead-letters/${dead}`, undefined, on.asA)
  },
  putTenant: () => asPlatform('PUT /v1/tenants/spare', { weight: 2 }),
  deleteTenant: () => asPlatform('DELETE /v1/tenants/spare'),
  revokeToken: async () => {
    const { body } = await on.node.ask('POST /v1/tokens', { name: 'short-lived', scopes: ['jobs:read'] }, on.asA)
    return on.node.ask(`DELETE /v1/tokens/${body.keyId}`, undefined, on.asA)
  },
}

async function asPlatform(what: string, body?: object): Promise<Asked> {
  return on.node.ask(what, body, await bearer({ tenant: '*' }))
}

/** The row that the stage set aside has gone with its execution. */
async function ofQuarantine(verb: string): Promise<Asked> {
  const id = await quarantinedRow(on.node.databaseUrl, on.ids.executionId!)
  return on.node.ask(`POST /v1/quarantine/${id}/${verb}`, undefined, on.asA)
}

describe('every verb', () => {
  const mutating = operations.filter(([, { method }]) => method !== 'GET').map(([id]) => id)

  it('is audited, or it is said why not', () => {
    const known = [...Object.keys(audited), ...Object.keys(argued)].filter((id) => mutating.includes(id))
    expect([...mutating].sort()).toEqual(known.sort())
  })

  it.each(Object.keys(audited).filter((id) => mutating.includes(id)))('%s', async (id) => {
    const { rows: before } = await sql.query('select coalesce(max(audit_id), 0) last from carillon.audit')
    const answer = await (special[id]?.() ?? send(on, operations.find(([known]) => known === id)!, on.asA))
    expect([answer.status < 300, JSON.stringify(answer.body)]).toEqual([true, expect.any(String)])
    const { rows } = await sql.query('select tenant, action from carillon.audit where audit_id > $1', [before[0].last])
    const tenant = ofNoTenant.has(id) ? null : secrets.tenant
    expect(rows).toContainEqual({ tenant, action: audited[id] })
  })
})

describe('refusals', () => {
  const count = async (action: string, tenant: string | null) =>
    (
      await sql.query(
        'select count(*)::int n from carillon.audit where action = $1 and tenant is not distinct from $2',
        [action, tenant],
      )
    ).rows[0].n
  const wrong = (executionId: string, fence = 999_999) => ({ executionId, fence, outcome: 'SUCCEEDED', result: null })
  const reportAs = (workerId: string, outcomes: object[], headers: Record<string, string>) =>
    on.node.ask(`POST /v1/workers/${workerId}/report`, { outcomes }, headers)

  it('of one token cannot fill the audit, under one name or many; all of them are counted', async () => {
    for (let i = 0; i < 3; i++) {
      const strange = Array.from({ length: 1_000 }, () => wrong(randomUUID()))
      await reportAs(on.ids.workerId!, strange, on.asA)
    }
    for (let i = 0; i < 30; i++) await reportAs(randomUUID(), [wrong(on.held.executionId)], on.asA)
    // A minute may have turned meanwhile.
    for (const action of ['execution.report_refused', 'execution.report_forged'])
      expect(await count(action, secrets.tenant)).toBeLessThanOrEqual(2 * 50)
    await sql.query(`update carillon.audit_counts set minute = minute - interval '1 hour'`)
    await sumUpRefusals(database)
    const { rows } = await sql.query(
      `select action, sum((detail ->> 'refused')::int)::int n from carillon.audit
       where action like '%.sum' and tenant = $1 group by 1 order by 1`,
      [secrets.tenant],
    )
    expect(rows).toEqual([
      { action: 'execution.report_forged.sum', n: 3_000 },
      { action: 'execution.report_refused.sum', n: 30 },
    ])
    expect((await sql.query('select from carillon.audit_counts')).rowCount).toBe(0)
  })

  it('of reports on another tenant’s work are on record with both the token’s tenant and the installation', async () => {
    const { executionId } = on.held
    const before = await count('execution.report_forged', 'tenant-b')
    const others = await count('execution.report_forged', secrets.tenant)
    const forged = await reportAs(randomUUID(), [{ ...wrong(executionId), fence: on.held.fence }], on.asB)
    expect(forged.status).toBeGreaterThanOrEqual(400)
    expect(await count('execution.report_forged', 'tenant-b')).toBe(before + 1)
    const { rows } = await sql.query(
      `select subject, detail from carillon.audit where action = 'execution.report_forged' and tenant is null`,
    )
    expect(rows).toContainEqual({ subject: executionId, detail: expect.objectContaining({ tenant: 'tenant-b' }) })
    expect(await count('execution.report_forged', secrets.tenant)).toBe(others)
  })

  it('of forged completion tokens are on record', async () => {
    const headers = { 'carillon-token': `${on.held.fence}.${'A'.repeat(43)}` }
    const answer = await on.node.ask(
      `POST /v1/executions/${on.held.executionId}/complete`,
      { outcome: 'SUCCEEDED' },
      headers,
    )
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(await count('execution.token_refused', null)).toBe(1)
  })
})

it('entries without a tenant are for platform tokens', async () => {
  const platform = await bearer({ tenant: '*' })
  const { status, body } = await on.node.ask('GET /v1/audit?installation=true', undefined, platform)
  expect([status, body.items.length > 0, body.items.every((e: { tenant: unknown }) => e.tenant === null)]).toEqual([
    200,
    true,
    true,
  ])
  const refused = await on.node.ask('GET /v1/audit?installation=true', undefined, on.asA)
  expect([refused.status, refused.body.code]).toEqual([403, 'TENANT_NOT_YOURS'])
  const own = await on.node.ask('GET /v1/audit', undefined, on.asA)
  expect(own.body.items.every((e: { tenant: unknown }) => e.tenant === secrets.tenant)).toBe(true)
})

it('is append-only, but for what is older than a retention that the owner set', async () => {
  const audit = 'carillon.audit'
  const rows = async () => (await sql.query(`select from ${audit}`)).rowCount!
  const old = `insert into ${audit} (at, actor, action) select now() - interval '31 days', 'test', 'old' from generate_series(1, 1500)`
  await sql.query(old)
  await expect(sql.query(`delete from ${audit} where action = 'old'`)).rejects.toThrow(/append-only/)
  await new AuditKeeper({ database }).runOnce()
  const before = await rows()
  await keepAudit({ databaseUrl: on.node.databaseUrl }, 30)
  for (const change of [`delete from ${audit}`, `update ${audit} set actor = 'x'`, `truncate ${audit}`])
    await expect(sql.query(change)).rejects.toThrow(/append-only/)
  // The old rows are the newest by id here: they are reached once all before them are old.
  await sql.query(`delete from ${audit} where action = 'old'`)
  expect(await rows()).toBe(before - 1500 + 1)
  const { rows: set } = await sql.query(`select detail from ${audit} where action = 'audit.retention_set'`)
  expect(set).toEqual([{ detail: { days: 30 } }])
})

it('a node removes what is older than the retention, oldest first', async () => {
  const first = `insert into carillon.audit (audit_id, at, actor, action) overriding system value
    select -n, now() - interval '40 days', 'test', 'old' from generate_series(1, 2500) n`
  await sql.query(first)
  await new AuditKeeper({ database }).runOnce()
  expect((await sql.query(`select from carillon.audit where action = 'old'`)).rowCount).toBe(0)
  expect((await sql.query('select from carillon.audit')).rowCount).toBeGreaterThan(0)
})
