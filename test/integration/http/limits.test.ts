/** Limits as they are declared: by tenants for themselves, by the operator for all of them. */
import { createClient } from '@carillon/sdk'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { jwtSecret, token } from './auth-server.ts'

let node: HttpNode
let sql: pg.Client
let text: string
let platform: Record<string, string>
let acme: Record<string, string>
let other: Record<string, string>

beforeAll(async () => {
  node = await httpNode({ auth: { jwtSecret } })
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
  const scope = 'jobs:read jobs:write work admin'
  text = await token({ tenant: 'acme', sub: 'ada', scope })
  platform = { authorization: `Bearer ${await token({ tenant: '*', sub: 'ops', scope })}` }
  acme = { authorization: `Bearer ${text}` }
  other = { authorization: `Bearer ${await token({ tenant: 'other', scope })}` }
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const ask = (what: string, body?: unknown, headers = {}) => node.ask(what, body, { ...acme, ...headers })
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]
const idOf = async (name: string, tenant: string | null = 'acme') =>
  (
    await sql.query('select limit_id id from carillon.limits where name = $1 and tenant is not distinct from $2', [
      name,
      tenant,
    ])
  ).rows[0].id
const audited = async (subject: string) =>
  (
    await sql.query('select tenant, actor, action, detail from carillon.audit where subject = $1 order by audit_id', [
      subject,
    ])
  ).rows

describe('a limit', () => {
  it('is declared, changed, read and deleted, with its version as ETag', async () => {
    const made = await ask('PUT /v1/limits/acct', { concurrency: 5, description: 'by account' })
    expect(made).toMatchObject({ status: 201 })
    expect(made.body).toEqual({
      ...{ name: 'acct', tenant: 'acme', for: 'KEY', of: null, concurrency: 5, rate: null, description: 'by account' },
      ...{ version: 1, createdAt: expect.stringMatching(/Z$/), updatedAt: expect.stringMatching(/Z$/) },
    })
    expect(made.headers.get('etag')).toBe('"1"')
    const again = await ask('PUT /v1/limits/acct', { for: 'KEY', of: null, concurrency: 5, description: 'by account' })
    expect(again).toMatchObject({ status: 200, body: { version: 1 } })
    const rate = { count: 100, perSec: 60 }
    const changed = await ask('PUT /v1/limits/acct', { rate }, { 'if-match': '"1"' })
    expect(changed).toMatchObject({ status: 200, body: { concurrency: null, rate, description: null, version: 2 } })
    const read = await ask('GET /v1/limits/acct')
    expect(read.body).toEqual({ ...changed.body, usage: [] })
    expect(read.headers.get('etag')).toBe('"2"')
    expect((await ask('DELETE /v1/limits/acct', undefined, { 'if-match': '"2"' })).status).toBe(204)
    expect(codeOf(await ask('GET /v1/limits/acct'))).toEqual([404, 'LIMIT_NOT_FOUND'])
    expect(codeOf(await ask('DELETE /v1/limits/acct'))).toEqual([404, 'LIMIT_NOT_FOUND'])
    const first = { for: 'KEY', of: null, concurrency: 5, rate: null, description: 'by account' }
    const second = { ...first, concurrency: null, rate, description: null }
    expect(await audited('acct')).toEqual([
      { tenant: 'acme', actor: 'user:ada', action: 'limit.created', detail: first },
      { tenant: 'acme', actor: 'user:ada', action: 'limit.updated', detail: { ...second, before: first } },
      { tenant: 'acme', actor: 'user:ada', action: 'limit.deleted', detail: { before: second } },
    ])
  })

  it('is not changed by one who has read another version, or none', async () => {
    await ask('PUT /v1/limits/versioned', { concurrency: 1 })
    await ask('PUT /v1/limits/versioned', { concurrency: 0 })
    const old = { 'if-match': '"1"' }
    expect(codeOf(await ask('PUT /v1/limits/versioned', { concurrency: 9 }, old))).toEqual([412, 'VERSION_MISMATCH'])
    expect(codeOf(await ask('PUT /v1/limits/nothing', { concurrency: 9 }, old))).toEqual([412, 'VERSION_MISMATCH'])
    expect(codeOf(await ask('DELETE /v1/limits/versioned', undefined, old))).toEqual([412, 'VERSION_MISMATCH'])
    expect((await ask('GET /v1/limits/versioned')).body.concurrency).toBe(0)
  })

  it('is declared once, whoever declares it at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask('PUT /v1/limits/raced', { concurrency: 2 })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])
    expect(await audited('raced')).toHaveLength(1)
  })

  it.each([
    [{}, '/concurrency', /concurrency or rate/],
    [{ concurrency: null }, '/concurrency', /concurrency or rate/],
    [{ concurrency: -1 }, '/concurrency', /./],
    [{ concurrency: 1_000_001 }, '/concurrency', /./],
    [{ concurrency: 1.5 }, '/concurrency', /./],
    [{ rate: { count: 0, perSec: 1 } }, '/rate/count', /./],
    [{ rate: { count: 1, perSec: 86_401 } }, '/rate/perSec', /./],
    [{ rate: { count: 1 } }, '/rate/perSec', /./],
    [{ rate: 5 }, '/rate', /./],
    [{ concurency: 5 }, '/concurency', /concurrency/],
    [{ for: 'JOBS', concurrency: 1 }, '/for', /JOB/],
    [{ of: 'x', concurrency: 1 }, '/of', /KEY/],
    [{ for: 'TENANT', concurrency: 1 }, '/for', /installation/],
    [{ for: 'JOB', of: 'no-such-job', concurrency: 1 }, '/of', /no-such-job/],
  ])('cannot be %j', async (body, pointer, said) => {
    const { status, body: problem } = await ask('PUT /v1/limits/bad', body)
    expect([status, problem.code]).toEqual([422, 'VALIDATION'])
    const error = problem.errors.find((each: { pointer: string }) => each.pointer === pointer)
    expect(JSON.stringify(error)).toMatch(said)
  })

  it('has a name without a colon, whatever else is in it', async () => {
    expect(codeOf(await ask('PUT /v1/limits/a%3Ab', { concurrency: 1 }))).toEqual([422, 'VALIDATION'])
    const names = ['ö', 'a/b?c', '%00', ' ']
    for (const name of names) {
      const { status } = await ask(`PUT /v1/limits/${encodeURIComponent(name)}`, { concurrency: 1 })
      expect([name, status]).toEqual([name, 201])
    }
    const { body: all } = await ask('GET /v1/limits')
    expect(all.items.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(names))
    const seen: unknown[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body } = await ask(`GET /v1/limits?limit=1${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.items)
      cursor = body.nextCursor
    }
    expect(seen).toEqual(all.items)
    expect(codeOf(await ask('GET /v1/limits?cursor=AAAA'))).toEqual([422, 'VALIDATION'])
  })
})

describe('what a limit is of', () => {
  const stored = async (name: string, tenant: string | null = 'acme') =>
    (
      await sql.query('select subject from carillon.limits where name = $1 and tenant is not distinct from $2', [
        name,
        tenant,
      ])
    ).rows[0].subject

  it('is a job, by id or by key', async () => {
    const job = { type: 'CRON', schedule: '0 3 1 1 *', target: { handler: 'h' }, key: 'nightly' }
    const { body } = await ask('POST /v1/jobs', job)
    for (const of of ['nightly', body.jobId.toUpperCase()]) {
      const put = await ask('PUT /v1/limits/of-job', { for: 'JOB', of, concurrency: 1 })
      expect(put.body.of).toBe(body.jobId)
    }
    const foreign = await ask('PUT /v1/limits/of-job', { for: 'JOB', of: body.jobId, concurrency: 1 }, other)
    expect(codeOf(foreign)).toEqual([422, 'VALIDATION'])
    const ours = await ask('PUT /v1/limits/of-job', { for: 'JOB', of: body.jobId, concurrency: 1 }, platform)
    expect(ours.body).toMatchObject({ of: body.jobId, tenant: null })
    await ask(`DELETE /v1/jobs/${body.jobId}`)
    expect(codeOf(await ask('PUT /v1/limits/of-job-2', { for: 'JOB', of: body.jobId, concurrency: 1 }))[0]).toBe(422)
  })

  it('is a handler, whether a worker has it or not', async () => {
    const put = await ask('PUT /v1/limits/of-handler', { for: 'HANDLER', of: 'send', rate: { count: 1, perSec: 1 } })
    expect(put.body).toMatchObject({ for: 'HANDLER', of: 'send' })
    expect((await ask('PUT /v1/limits/of-handlers', { for: 'HANDLER', concurrency: 1 })).body.of).toBeNull()
  })

  it('is a pool of the tenant, else of the installation', async () => {
    await ask('POST /v1/pools', { name: 'mail' })
    expect((await ask('PUT /v1/limits/of-pool', { for: 'POOL', of: 'mail', concurrency: 1 })).body.of).toBe('mail')
    expect(await stored('of-pool')).toBe('acme\u001fmail')
    expect((await audited('of-pool'))[0].detail.of).toBe('mail')
    await ask('PUT /v1/limits/of-default', { for: 'POOL', of: 'default', concurrency: 1 })
    expect(await stored('of-default')).toBe('default')
    for (const headers of [other, platform]) {
      const refused = await ask('PUT /v1/limits/of-pool', { for: 'POOL', of: 'mail', concurrency: 1 }, headers)
      expect(codeOf(refused)).toEqual([422, 'POOL_UNKNOWN'])
    }
    const slip = await ask('PUT /v1/limits/of-pool', { for: 'POOL', of: 'mial', concurrency: 1 })
    expect(slip.body.errors[0]).toMatchObject({ pointer: '/of', hint: 'Did you mean mail?' })
  })

  it('is a tenant only where the operator says so', async () => {
    const put = await ask('PUT /v1/limits/of-tenant', { for: 'TENANT', of: 'acme', concurrency: 10 }, platform)
    expect(put).toMatchObject({ status: 201, body: { tenant: null, for: 'TENANT', of: 'acme' } })
    const named = { ...platform, 'carillon-tenant': 'acme' }
    expect(codeOf(await ask('PUT /v1/limits/x', { for: 'TENANT', concurrency: 10 }, named))).toEqual([
      422,
      'VALIDATION',
    ])
    const all = await ask('PUT /v1/limits/x', { for: 'TENANT', of: '*', concurrency: 10 }, platform)
    expect(all.body.errors[0]).toMatchObject({ pointer: '/of' })
  })
})

describe('whose a limit is', () => {
  it('is the tenant’s of a tenant’s token, the installation’s of a platform token, each unseen by others', async () => {
    await ask('PUT /v1/limits/shared', { concurrency: 1 })
    await ask('PUT /v1/limits/shared', { concurrency: 2 }, other)
    await ask('PUT /v1/limits/shared', { concurrency: 3 }, platform)
    const read = async (headers: object) => (await ask('GET /v1/limits/shared', undefined, headers)).body
    expect(await read(acme)).toMatchObject({ tenant: 'acme', concurrency: 1 })
    expect(await read(other)).toMatchObject({ tenant: 'other', concurrency: 2 })
    expect(await read(platform)).toMatchObject({ tenant: null, concurrency: 3 })
    expect(await read({ ...platform, 'carillon-tenant': 'other' })).toMatchObject({ tenant: 'other', concurrency: 2 })
    expect((await audited('shared')).map(({ tenant }) => tenant)).toEqual(['acme', 'other', null])
    const { body } = await ask('GET /v1/limits?limit=1000', undefined, other)
    expect(new Set(body.items.map(({ tenant }: { tenant: string }) => tenant))).toEqual(new Set(['other']))
    await ask('PUT /v1/limits/hidden', { concurrency: 1 }, platform)
    for (const what of ['GET /v1/limits/hidden', 'DELETE /v1/limits/hidden'])
      expect(codeOf(await ask(what))).toEqual([404, 'LIMIT_NOT_FOUND'])
  })

  it('is changed with the scope admin, and read with jobs:read', async () => {
    const reader = { authorization: `Bearer ${await token({ tenant: 'acme', scope: 'jobs:read jobs:write' })}` }
    expect((await ask('GET /v1/limits/shared', undefined, reader)).status).toBe(200)
    expect(codeOf(await ask('PUT /v1/limits/shared', { concurrency: 1 }, reader))).toEqual([403, 'SCOPE_MISSING'])
    expect(codeOf(await ask('DELETE /v1/limits/shared', undefined, reader))).toEqual([403, 'SCOPE_MISSING'])
  })

  it('goes with a tenant that is deleted', async () => {
    await ask('PUT /v1/tenants/short', {}, platform)
    const asTenant = { ...platform, 'carillon-tenant': 'short' }
    await ask('PUT /v1/limits/of-short', { concurrency: 1 }, asTenant)
    expect((await ask('DELETE /v1/tenants/short', undefined, platform)).status).toBe(204)
    expect(codeOf(await ask('GET /v1/limits/of-short', undefined, asTenant))).toEqual([404, 'LIMIT_NOT_FOUND'])
    expect((await audited('of-short')).map(({ action, tenant }) => [action, tenant])).toEqual([
      ['limit.created', 'short'],
      ['limit.deleted', 'short'],
    ])
  })
})

describe('what waits for a limit', () => {
  it('is shown by key', async () => {
    await ask('PUT /v1/limits/busy', { concurrency: 0 })
    const limit = `limit:${await idOf('busy')}:`
    // Rows of a limit whose number begins alike belong to another one.
    const foreign = `limit:${await idOf('busy')}0:x`
    await sql.query(`insert into carillon.limit_keys (key, taken) values ($1, 5), ($2, 2), ($3, 1), ($4, 9)`, [
      ...[`${limit}a`, `${limit}b`, `${limit}none`, foreign],
    ])
    await sql.query(`insert into carillon.limit_changes (key, freed) values ($1, 1), ($1, 2), ($2, 1)`, [
      ...[`${limit}a`, `${limit}none`],
    ])
    await sql.query(
      `insert into carillon.waiting (key, tenant, execution_id)
       select k, 'acme', gen_random_uuid() from unnest(array[$1, $1, $2, $3]) k`,
      [`${limit}b`, `${limit}c`, foreign],
    )
    expect((await ask('GET /v1/limits/busy')).body.usage).toEqual([
      { key: 'b', taken: 2, waiting: 2 },
      { key: 'c', taken: 0, waiting: 1 },
      { key: 'a', taken: 2, waiting: 0 },
    ])
    await sql.query(`delete from carillon.waiting where key like 'limit:%'`)
  })
})

it('the client declares, reads, lists and deletes them', async () => {
  const client = createClient({ urls: [node.url], token: text })
  const { version } = await client.limits.put('by-client', { rate: { count: 4, perSec: 2 } })
  await expect(client.limits.put('by-client', { concurrency: 1 }, { version: version + 1 })).rejects.toMatchObject({
    code: 'VERSION_MISMATCH',
  })
  expect(await client.limits.get('by-client')).toMatchObject({ rate: { count: 4, perSec: 2 }, usage: [] })
  expect((await client.limits.list({ limit: 1_000 })).items).toContainEqual(
    expect.objectContaining({ name: 'by-client' }),
  )
  await client.limits.delete('by-client', { version })
  expect(await client.limits.get('by-client')).toBeNull()
  await client.close()
})
