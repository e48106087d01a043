/** Tenants as the operator declares them. */
import { createClient } from '@carillon/sdk'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { jwtSecret, token } from './auth-server.ts'

let node: HttpNode
let sql: pg.Client
let platform: Record<string, string>
let text: string

beforeAll(async () => {
  node = await httpNode({ auth: { jwtSecret } })
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
  text = await token({ tenant: '*', sub: 'ops', scope: 'jobs:read jobs:write work admin' })
  platform = { authorization: `Bearer ${text}` }
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const ask = (what: string, body?: unknown, headers = {}) => node.ask(what, body, { ...platform, ...headers })
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]
const audited = async (subject: string) =>
  (
    await sql.query('select tenant, actor, action, detail from carillon.audit where subject = $1 order by audit_id', [
      subject,
    ])
  ).rows

describe('a tenant', () => {
  it('is declared, changed and read, with its version as ETag', async () => {
    const made = await ask('PUT /v1/tenants/acme', { weight: 3, description: 'gold' })
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'acme', weight: 3, description: 'gold', version: 1, createdAt: expect.stringMatching(/Z$/) },
    })
    expect(made.headers.get('etag')).toBe('"1"')
    const again = await ask('PUT /v1/tenants/acme', { weight: 3, description: 'gold' })
    expect(again).toMatchObject({ status: 200, body: { version: 1 } })
    const changed = await ask('PUT /v1/tenants/acme', { weight: 5 }, { 'if-match': '"1"' })
    expect(changed).toMatchObject({ status: 200, body: { weight: 5, description: null, version: 2 } })
    expect((await ask('GET /v1/tenants/acme')).headers.get('etag')).toBe('"2"')
    expect((await audited('acme')).map(({ action, tenant }) => [action, tenant])).toEqual([
      ['tenant.created', null],
      ['tenant.updated', null],
    ])
    expect((await audited('acme'))[1]).toMatchObject({
      actor: 'user:ops',
      detail: { weight: 5, before: { weight: 3, description: 'gold' } },
    })
  })

  it('is not changed by one who has read another version, or none', async () => {
    const old = await ask('PUT /v1/tenants/acme', { weight: 9 }, { 'if-match': '"1"' })
    expect(codeOf(old)).toEqual([412, 'VERSION_MISMATCH'])
    expect(codeOf(await ask('PUT /v1/tenants/nobody', {}, { 'if-match': '"1"' }))).toEqual([412, 'VERSION_MISMATCH'])
    expect(codeOf(await ask('DELETE /v1/tenants/acme', undefined, { 'if-match': '"1"' }))).toEqual([
      412,
      'VERSION_MISMATCH',
    ])
    expect((await ask('GET /v1/tenants/acme')).body.weight).toBe(5)
    expect(codeOf(await ask('GET /v1/tenants/nobody'))).toEqual([404, 'TENANT_NOT_FOUND'])
  })

  it('is declared once, whoever declares it at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask('PUT /v1/tenants/raced', { weight: 2 })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])
    expect(await audited('raced')).toHaveLength(1)
  })

  it.each([{ weight: 0 }, { weight: 1_001 }, { weight: 1.5 }, { weight: '3' }, { wieght: 3 }])(
    'cannot be %j',
    async (body) => {
      expect(codeOf(await ask('PUT /v1/tenants/bad', body))).toEqual([422, 'VALIDATION'])
    },
  )

  it('cannot be called * or have a control character in its name', async () => {
    for (const name of ['*', '%0A']) {
      const answer = await ask(`PUT /v1/tenants/${name}`, {})
      expect([...codeOf(answer), answer.body.errors[0].pointer]).toEqual([422, 'VALIDATION', '/tenant'])
    }
  })

  it('is found on one page or another, whatever its name', async () => {
    const names = ['ö', 'a/b?c', '%00', ' ']
    for (const name of names) await ask(`PUT /v1/tenants/${encodeURIComponent(name)}`, {})
    const { body: all } = await ask('GET /v1/tenants')
    expect(all.items.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining([...names, 'acme']))
    const seen: unknown[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body } = await ask(`GET /v1/tenants?limit=1${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.items)
      cursor = body.nextCursor
    }
    expect(seen).toEqual(all.items)
    expect(codeOf(await ask('GET /v1/tenants?cursor=AAAA'))).toEqual([422, 'VALIDATION'])
  })

  it('is the operator’s business only', async () => {
    const headers = { authorization: `Bearer ${await token({ tenant: 'acme', scope: 'jobs:read jobs:write admin' })}` }
    for (const what of ['GET /v1/tenants', 'GET /v1/tenants/acme', 'PUT /v1/tenants/acme', 'DELETE /v1/tenants/acme']) {
      const answer = await node.ask(what, what.startsWith('PUT') ? { weight: 1_000 } : undefined, headers)
      expect([what, ...codeOf(answer)]).toEqual([what, 403, 'TENANT_NOT_YOURS'])
    }
    const { body } = await node.ask('GET /v1/audit', undefined, headers)
    expect(JSON.stringify(body)).not.toContain('tenant.')
    const reader = { authorization: `Bearer ${await token({ tenant: '*', scope: 'jobs:read jobs:write' })}` }
    expect(codeOf(await node.ask('GET /v1/tenants', undefined, reader))).toEqual([403, 'SCOPE_MISSING'])
  })

  it('stays declared while it has anything but history', async () => {
    const asTenant = { 'carillon-tenant': 'busy' }
    const mustBe = async (what: string) => {
      const answer = await ask('DELETE /v1/tenants/busy')
      expect([...codeOf(answer), answer.body.detail]).toEqual([409, 'STATE_CONFLICT', expect.stringContaining(what)])
    }
    await ask('PUT /v1/tenants/busy', {})
    const target = { handler: 'h' }
    const { body: job } = await ask('POST /v1/jobs', { type: 'CRON', schedule: '0 3 1 1 *', target }, asTenant)
    await mustBe('jobs')
    await ask(`DELETE /v1/jobs/${job.jobId}`, undefined, asTenant)
    const { body: dag } = await ask('POST /v1/dags', { steps: [{ name: 'a', target }] }, asTenant)
    await mustBe('graphs')
    await ask(`DELETE /v1/dags/${dag.dagId}`, undefined, asTenant)
    const { body: submitted } = await ask('POST /v1/jobs', { type: 'ONE_SHOT', target }, asTenant)
    await mustBe('unfinished executions')
    await ask(`POST /v1/executions/${submitted.jobId}/cancel`, {}, asTenant)
    await sql.query(`insert into carillon.pools (pool, tenant) values (U&'busy\\001fown', 'busy')`)
    await mustBe('pools')
    await sql.query(`delete from carillon.pools where tenant = 'busy'`)
    const { body: key } = await ask('POST /v1/tokens', { name: 'k', scopes: ['jobs:read'] }, asTenant)
    await mustBe('API keys')
    await ask(`DELETE /v1/tokens/${key.keyId}`, undefined, asTenant)
    expect((await ask('DELETE /v1/tenants/busy')).status).toBe(204)
    expect(codeOf(await ask('DELETE /v1/tenants/busy'))).toEqual([404, 'TENANT_NOT_FOUND'])
    expect((await audited('busy')).map(({ action }) => action)).toEqual(['tenant.created', 'tenant.deleted'])
  })
})

it('the client declares, reads, lists and deletes them', async () => {
  const client = createClient({ urls: [node.url], token: text })
  const { version } = await client.tenants.put('by-client', { weight: 4 })
  await expect(client.tenants.put('by-client', {}, { version: version + 1 })).rejects.toMatchObject({
    code: 'VERSION_MISMATCH',
  })
  expect(await client.tenants.get('by-client')).toMatchObject({ weight: 4 })
  expect((await client.tenants.list({ limit: 1_000 })).items).toContainEqual(
    expect.objectContaining({ name: 'by-client' }),
  )
  await client.tenants.delete('by-client', { version })
  expect(await client.tenants.get('by-client')).toBeNull()
  await client.close()
})
