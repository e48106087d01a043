import { createApiKey, listApiKeys, revokeApiKey } from '@carillon/server/administration'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { type AuthServer, authServer } from './auth-server.ts'

let at: AuthServer

beforeAll(async () => {
  at = await authServer({})
})
afterAll(() => at[Symbol.asyncDispose]())

const input = { name: 'of a test', tenant: 'acme', scopes: ['jobs:read', 'work'] } as const
const make = (more: object = {}) => createApiKey(at.engine.database, { ...input, ...more })

describe('an API key', () => {
  it('says who asks, for which tenant, and what is allowed', async () => {
    const { key, keyId } = await createApiKey(at.databaseUrl, input)
    expect(key).toMatch(new RegExp(`^crl_${keyId}_[0-9a-f]{64}$`))
    const { status, body } = await at.enter(key)
    expect(status).toBe(200)
    expect(body).toEqual({ tenant: 'acme', platform: false, scopes: ['jobs:read', 'work'], actor: `key:${keyId}` })
    expect(await at.enter(key, { scope: 'admin' })).toMatchObject({ status: 403, body: { code: 'SCOPE_MISSING' } })
  })

  it('without a tenant is a platform key', async () => {
    const { key } = await make({ tenant: null })
    expect((await at.enter(key)).body).toMatchObject({ tenant: 'default', platform: true })
  })

  it('is nowhere in the database', async () => {
    const { key, keyId } = await make()
    const secret = key.split('_')[2]!
    const rows = await at.engine.database.query<{ text: string }>(
      null,
      'select k::text text from carillon.api_keys k union all select a::text from carillon.audit a',
    )
    const all = rows.map(({ text }) => text).join('\n')
    expect(all).toContain(keyId)
    expect(all).not.toContain(secret)
    expect(all).not.toContain(Buffer.from(secret).toString('hex'))
  })

  it('of another installation is not known, nor is one with another secret', async () => {
    await using elsewhere = await authServer({})
    const theirs = await createApiKey(elsewhere.databaseUrl, input)
    const { key } = await make()
    const [prefix, keyId] = key.split('_')
    const wrong = [
      theirs.key,
      `${prefix}_${keyId}_${theirs.key.split('_')[2]}`,
      key.slice(0, -1),
      `${key}0`,
      `crl_${keyId}`,
    ]
    for (const text of [...wrong, key.toUpperCase(), `${prefix}_${keyId}_${'0'.repeat(64)}`]) {
      const { status, body, headers } = await at.enter(text)
      expect({ status, code: body.code }, text).toEqual({ status: 401, code: 'UNAUTHENTICATED' })
      expect(body.detail, text).not.toContain(keyId)
      expect(headers.get('www-authenticate')).toMatch(/^Bearer /)
    }
    expect(await at.enter(key)).toMatchObject({ status: 200 })
    expect(await elsewhere.enter(theirs.key)).toMatchObject({ status: 200 })
  })

  it('ends at its time, also while it is remembered', async () => {
    const { key } = await make({ expiresInSec: 5 })
    expect(await at.enter(key)).toMatchObject({ status: 200 })
    at.age(6_000)
    expect(await at.enter(key)).toMatchObject({ status: 401, body: { detail: expect.stringContaining('has expired') } })
  })

  it('that was revoked is refused ten seconds later at the latest', async () => {
    const { key, keyId } = await make()
    expect(await at.enter(key)).toMatchObject({ status: 200 })
    const revoked = await revokeApiKey(at.databaseUrl, keyId)
    expect(revoked).toMatchObject({ keyId, revokedAt: expect.any(Date) })
    at.age(10_000)
    expect(await at.enter(key)).toMatchObject({ status: 401, body: { detail: expect.stringContaining('was revoked') } })
    // Again, and by the whole key: it stays revoked since the first time.
    expect(await revokeApiKey(at.databaseUrl, key)).toEqual(revoked)
    expect(await revokeApiKey(at.databaseUrl, '0123456789abcdef')).toBeNull()
  })

  it('is written down in the audit when it comes and goes', async () => {
    const { keyId } = await make({ tenant: 'audited' })
    await revokeApiKey(at.engine.database, keyId)
    const rows = await at.engine.database.query(
      null,
      'select tenant, actor, action from carillon.audit where subject = $1 order by audit_id',
      [keyId],
    )
    expect(rows).toEqual([
      { tenant: 'audited', actor: 'operator', action: 'api_key.created' },
      { tenant: 'audited', actor: 'operator', action: 'api_key.revoked' },
    ])
  })

  it('is listed without its secret', async () => {
    const { key, ...shown } = await make({ name: 'listed' })
    expect((await listApiKeys(at.databaseUrl))[0]).toEqual(shown)
    expect(Object.keys(shown)).not.toContain('hash')
  })
})

describe('guessing', () => {
  it('costs the database one question at a time, and nothing for what was guessed before', async () => {
    const { key } = await make()
    const guesses = Array.from({ length: 200 }, (_, i) => `crl_${i.toString(16).padStart(16, '0')}_${'0'.repeat(64)}`)
    const questions = watch()
    const guess = async () => {
      const answers = await Promise.all(guesses.map((text) => at.enter(text)))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
    }
    await guess()
    expect(questions.atOnce).toBe(1)
    const asked = questions.asked
    await guess()
    expect(questions.asked).toBe(asked)
    expect(await at.enter(key)).toMatchObject({ status: 200 })
    questions.stop()
  })

  it('a key that is made later works at the latest ten seconds after it was guessed', async () => {
    const { key, keyId } = await make()
    await at.engine.database.query(null, 'update carillon.api_keys set key_id = $1 where key_id = $2', ['feed', keyId])
    expect(await at.enter(key)).toMatchObject({ status: 401 })
    await at.engine.database.query(null, 'update carillon.api_keys set key_id = $2 where key_id = $1', ['feed', keyId])
    at.age(10_000)
    expect(await at.enter(key)).toMatchObject({ status: 200 })
  })
})

describe('making a key', () => {
  it.each<[object, string]>([
    [{ name: '' }, '/name'],
    [{ name: undefined }, '/name'],
    [{ name: 'a\u0000' }, '/name'],
    [{ tenant: '' }, '/tenant'],
    [{ tenant: undefined }, '/tenant'],
    [{ tenant: '*' }, '/tenant'],
    [{ tenant: 'x'.repeat(201) }, '/tenant'],
    [{ scopes: [] }, '/scopes'],
    [{ scopes: 'admin' }, '/scopes'],
    [{ scopes: ['jobs:read', 'root'] }, '/scopes/1'],
    [{ expiresInSec: 0 }, '/expiresInSec'],
    [{ expiresInSec: '60' }, '/expiresInSec'],
    [{ expiresInSec: Number.NaN }, '/expiresInSec'],
  ])('refuses %j', async (more, pointer) => {
    await expect(make(more)).rejects.toMatchObject({ code: 'VALIDATION', errors: [{ pointer }] })
  })

  it('says what to do where no node has ever been', async () => {
    const empty = await createDatabase()
    const said = { code: 'CONFIG_INVALID', message: expect.stringContaining('Start a node') }
    await expect(createApiKey(empty.url, input)).rejects.toMatchObject(said)
    await expect(listApiKeys(empty.url)).rejects.toMatchObject(said)
    await empty.drop()
  })
})

/** How often the table of keys is asked, and how many questions are under way at most. */
function watch() {
  const seen = { asked: 0, atOnce: 0, underWay: 0, stop: () => spy.mockRestore() }
  const { database } = at.engine
  const query = database.query.bind(database)
  const spy = vi.spyOn(database, 'query').mockImplementation(async (name, ...rest) => {
    if (name !== 'read-api-keys') return query(name, ...rest)
    seen.asked += 1
    seen.underWay += 1
    seen.atOnce = Math.max(seen.atOnce, seen.underWay)
    return query(name, ...rest).finally(() => {
      seen.underWay -= 1
    })
  })
  return seen
}
