/** API keys over HTTP: who may list, create and revoke which; that nobody gets more than he has; that the secret stays nowhere. */
import { type Scope, scopes } from '@carillon/contract'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testCarillon } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { jwtSecret, token } from './auth-server.ts'

let node: HttpNode

beforeAll(async () => {
  node = await httpNode({ auth: { jwtSecret } })
})
afterAll(() => node?.[Symbol.asyncDispose]())

const as = async (tenant: string, has: readonly Scope[] = scopes) => ({
  authorization: `Bearer ${await token({ tenant, sub: 'ada', scope: '', scopes: has })}`,
})
const create = async (caller: Record<string, string>, body: object) => node.ask('POST /v1/tokens', body, caller)
const input = { name: 'deploys', scopes: ['jobs:read', 'admin'] }

describe('a tenant’s admin', () => {
  it('creates a key that works, and revokes it', async () => {
    const made = await create(await as('one'), { ...input, expiresInSec: 3_600 })
    expect(made.status).toBe(201)
    const { key, ...shown } = made.body
    expect(shown).toMatchObject({ name: 'deploys', tenant: 'one', scopes: input.scopes, revokedAt: null })
    expect(Date.parse(shown.expiresAt) - Date.parse(shown.createdAt)).toBeCloseTo(3_600_000, -3)
    const bearer = { authorization: `Bearer ${key}` }
    expect((await node.ask('GET /v1/me', undefined, bearer)).body).toMatchObject({
      ...{ name: `key:${shown.keyId}`, tenant: 'one', scopes: input.scopes },
    })
    const listed = await node.ask('GET /v1/tokens', undefined, bearer)
    expect(listed.body.items).toEqual([shown])
    expect((await node.ask(`DELETE /v1/tokens/${shown.keyId}`, undefined, bearer)).status).toBe(204)
    const after = await node.ask('GET /v1/tokens', undefined, await as('one'))
    expect(after.body.items).toMatchObject([{ keyId: shown.keyId, revokedAt: expect.any(String) }])
  })

  it('gives away no scope that it lacks', async () => {
    const refused = await create(await as('two', ['admin', 'jobs:read']), { name: 'x', scopes: ['jobs:read', 'work'] })
    expect(refused).toMatchObject({ status: 403, body: { code: 'SCOPE_MISSING' } })
    expect(refused.body.errors[0]).toMatchObject({ pointer: '/scopes', message: expect.stringContaining('work') })
    expect((await node.ask('GET /v1/tokens', undefined, await as('two'))).body.items).toEqual([])
  })

  it('makes, sees and revokes nothing of another tenant or of the platform', async () => {
    const caller = await as('three')
    const platform = await as('*')
    expect((await create(caller, { ...input, platform: true })).body.code).toBe('TENANT_NOT_YOURS')
    expect((await node.ask('GET /v1/tokens?platform=true', undefined, caller)).body.code).toBe('TENANT_NOT_YOURS')
    const others = await create(await as('four'), input)
    const platforms = await create(platform, { ...input, platform: true })
    for (const { body } of [others, platforms]) {
      const refused = await node.ask(`DELETE /v1/tokens/${body.keyId}`, undefined, caller)
      expect(refused).toMatchObject({ status: 404, body: { code: 'TOKEN_NOT_FOUND' } })
      expect((await node.ask('GET /v1/me', undefined, { authorization: `Bearer ${body.key}` })).status).toBe(200)
    }
    expect((await node.ask('GET /v1/tokens', undefined, caller)).body.items).toEqual([])
  })
})

describe('a platform token', () => {
  it('makes keys of the tenant it acts for, and platform ones', async () => {
    const caller = { ...(await as('*')), 'carillon-tenant': 'five' }
    const tenants = await create(caller, input)
    expect(tenants.body.tenant).toBe('five')
    const platforms = await create(caller, { ...input, platform: true })
    expect(platforms.body.tenant).toBeNull()
    const mine = await node.ask('GET /v1/tokens', undefined, caller)
    expect(mine.body.items.map(({ keyId }: { keyId: string }) => keyId)).toEqual([tenants.body.keyId])
    const listed = await node.ask('GET /v1/tokens?platform=true&limit=1', undefined, caller)
    expect(listed.body.items).toMatchObject([{ keyId: platforms.body.keyId, tenant: null }])
    expect((await node.ask(`DELETE /v1/tokens/${platforms.body.keyId}`, undefined, caller)).status).toBe(204)
  })
})

it('a list has pages', async () => {
  const caller = await as('six')
  for (const name of ['a', 'b', 'c']) await create(caller, { ...input, name })
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const { body } = await node.ask(`GET /v1/tokens?limit=1${cursor ? `&cursor=${cursor}` : ''}`, undefined, caller)
    seen.push(...body.items.map(({ name }: { name: string }) => name))
    cursor = body.nextCursor
  } while (cursor)
  expect(seen).toEqual(['c', 'b', 'a'])
  expect((await node.ask('GET /v1/tokens?cursor=_w', undefined, caller)).body.code).toBe('VALIDATION')
})

it('is in the audit under the name of the caller, and the secret is nowhere', async () => {
  const caller = await as('seven')
  const headers = { ...caller, 'idempotency-key': 'again' }
  const { body } = await create(headers, input)
  const again = await create(headers, input)
  expect(again.body.keyId).not.toBe(body.keyId)
  await node.ask(`DELETE /v1/tokens/${body.keyId}`, undefined, caller)
  const audit = await node.ask('GET /v1/audit', undefined, caller)
  expect(audit.body.items).toMatchObject([
    { action: 'api_key.revoked', actor: 'user:ada', subject: body.keyId },
    { action: 'api_key.created', actor: 'user:ada' },
    { action: 'api_key.created', actor: 'user:ada', subject: body.keyId },
  ])
  const secret = body.key.split('_').at(-1)
  const client = new pg.Client(node.databaseUrl)
  await client.connect()
  const { rows } = await client.query(
    `select table_name from information_schema.tables where table_schema = 'carillon' and table_type = 'BASE TABLE'`,
  )
  for (const { table_name: table } of rows) {
    const found = await client.query(`select from carillon."${table}" t where t::text like '%' || $1 || '%'`, [secret])
    expect([table, found.rowCount]).toEqual([table, 0])
  }
  await client.end()
})

it('a node whose database role may not write keys says so', async () => {
  await using open = await httpNode()
  const client = new pg.Client(open.databaseUrl)
  await client.connect()
  await client.query(`create function carillon.refuse() returns trigger language plpgsql as
    $$ begin raise insufficient_privilege; end $$`)
  await client.query(`create trigger refuse before insert on carillon.api_keys execute function carillon.refuse()`)
  await client.end()
  const refused = await open.ask('POST /v1/tokens', input)
  expect(refused).toMatchObject({ status: 403, body: { code: 'TOKENS_NOT_WRITABLE' } })
})

it('in library mode', async () => {
  await using at = await testCarillon()
  const { installation } = at.carillon
  const { key, ...shown } = await installation.createToken({ name: 'x', scopes: ['jobs:read'] })
  expect(key).toMatch(/^crl_/)
  expect((await installation.tokens()).items).toEqual([shown])
  await installation.revokeToken(shown.keyId)
  expect((await installation.tokens()).items).toMatchObject([{ revokedAt: expect.any(String) }])
})
