import { createHmac } from 'node:crypto'
import { type JWTPayload, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AuthServer, authServer, inSec, secretBytes, token } from './auth-server.ts'

let at: AuthServer

beforeAll(async () => {
  at = await authServer()
})
afterAll(() => at[Symbol.asyncDispose]())

describe('a good token', () => {
  it('says who asks, for which tenant, and what is allowed', async () => {
    const good = await token({ sub: 'ada@example.com', scope: 'jobs:read work of-a-newer-version' })
    const { status, body } = await at.enter(good)
    expect(status).toBe(200)
    expect(body).toEqual({
      tenant: 'acme',
      platform: false,
      scopes: ['jobs:read', 'work'],
      actor: 'user:ada@example.com',
    })
  })

  it('names its scopes as a text, as a list, or both', async () => {
    const { body } = await at.enter(await token({ scope: 'jobs:read', scopes: ['admin', 'unknown'] }))
    expect(body.scopes).toEqual(['jobs:read', 'admin'])
  })

  it('of all tenants is a platform token', async () => {
    const { body } = await at.enter(await token({ tenant: '*' }))
    expect(body).toMatchObject({ tenant: 'default', platform: true })
  })

  it('is taken whatever the case of Bearer, and five seconds after its end', async () => {
    const late = await token({ exp: inSec(-2) })
    expect(await at.enter(undefined, { headers: { authorization: `bEARER ${late}` } })).toMatchObject({ status: 200 })
  })

  it('without sub is nobody in particular', async () => {
    expect((await at.enter(await token({ sub: undefined }))).body.actor).toBe('token')
  })
})

describe('a token that lacks a scope', () => {
  it('is told which', async () => {
    const { status, body } = await at.enter(await token({ scope: 'jobs:read jobs:write work' }), { scope: 'admin' })
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'SCOPE_MISSING' })
    expect(body.detail).toContain('admin')
  })

  it('is not helped by one that contains its name, nor by admin', async () => {
    for (const scope of ['jobs:reader', 'xjobs:read', 'jobs', '*', 'admin', 'JOBS:READ']) {
      expect((await at.enter(await token({ scope }))).status, scope).toBe(403)
    }
  })
})

describe('refused', () => {
  const refused: [string, string | (() => Promise<string> | string), RegExp][] = [
    ['an expired token', () => token({ exp: inSec(-10) }), /has expired/],
    ['one that is not valid yet', () => token({ nbf: inSec(60) }), /not valid yet/],
    ['one without an end', () => token({ exp: undefined }), /exp is missing/],
    ['one whose end is a text', () => token({ exp: '2999-01-01' as never }), /./],
    ['one without a tenant', () => token({ tenant: undefined }), /tenant is required/],
    ['one whose tenant is empty', () => token({ tenant: '' }), /tenant/],
    ['one whose tenant is a list', () => token({ tenant: ['acme', '*'] }), /tenant/],
    ['one whose tenant has a control character', () => token({ tenant: 'acme\n' }), /tenant/],
    ['one whose tenant has a lone surrogate', () => token({ tenant: 'acme\ud800' }), /tenant/],
    ['one whose tenant is too long', () => token({ tenant: 'x'.repeat(201) }), /tenant/],
    ['one whose sub has a control character', () => token({ sub: 'ada\u0000' }), /sub/],
    ['one whose scopes are no list of texts', () => token({ scopes: [1] }), /scopes/],
    ['one that is signed with another secret', () => token({}, { key: new Uint8Array(32) }), notSaid()],
    [
      'one of an algorithm that is not configured',
      () => token({}, { alg: 'HS512', key: new Uint8Array(64) }),
      notSaid(),
    ],
    ['one without an algorithm', () => new UnsecuredJWT(claims()).encode(), notSaid()],
    ['one without an algorithm, in other words', () => forged({ alg: 'NONE' }, ''), notSaid()],
    ['one of the right secret that says none', () => forgedWithSecret({ alg: 'none' }), notSaid()],
    [
      'one with a header that must be understood',
      () => forgedWithSecret({ alg: 'HS256', crit: ['x'], x: 1 }),
      notSaid(),
    ],
    ['one whose claims were changed', async () => tampered(await token()), notSaid()],
    ['one whose signature was cut', async () => (await token()).slice(0, -1), notSaid()],
    ['one whose signature is gone', async () => (await token()).replace(/[^.]*$/, ''), notSaid()],
    ['three dots', '...', notSaid()],
    ['garbage', 'garbage', notSaid()],
    ['an API key that is none', 'crl_', /not known/],
    ['a long text', 'x'.repeat(9_000), /longer than/],
    ['a long token', () => token({ more: 'x'.repeat(7_000) }), /longer than/],
    ['deep JSON', () => forgedText('{"alg":"HS256"}', '['.repeat(3_000)), notSaid()],
    [
      'a prototype for claims',
      () => token({ ['__proto__']: { tenant: '*' }, tenant: undefined }),
      /tenant is required/,
    ],
  ]

  it.each(refused)('%s', async (_, make, said) => {
    const { status, body, headers } = await at.enter(typeof make === 'string' ? make : await make())
    expect({ status, code: body.code }).toEqual({ status: 401, code: 'UNAUTHENTICATED' })
    expect(body.detail).toMatch(said)
    expect(headers.get('www-authenticate')).toMatch(/^Bearer /)
  })

  it.each(['', 'Bearer', 'Bearer ', 'Basic YWRhOnNlY3JldA==', 'Token x', 'Bearerx', 'null'])(
    'Authorization: %s',
    async (authorization) => {
      const { status, body } = await at.enter(undefined, { headers: { authorization } })
      expect({ status, code: body.code }).toEqual({ status: 401, code: 'UNAUTHENTICATED' })
    },
  )

  it('nobody at all, and how to come is told', async () => {
    const { status, body, headers } = await at.enter()
    expect({ status, code: body.code }).toEqual({ status: 401, code: 'UNAUTHENTICATED' })
    expect(body.detail).toContain('Authorization: Bearer')
    expect(headers.get('www-authenticate')).toBe('Bearer realm="carillon"')
  })

  it('a header of 100 KB, before anybody looks at it', async () => {
    // The node answers and hangs up; whether the answer is read before the hanging up is not in its hands.
    const seen = await at.enter('x'.repeat(100_000)).then(
      ({ status }) => status,
      () => 'cut off',
    )
    expect([431, 'cut off']).toContain(seen)
    expect(await at.enter(await token())).toMatchObject({ status: 200 })
  })
})

describe('a token that is known', () => {
  it('is refused once its time is over', async () => {
    const brief = await token({ exp: inSec(1_800) })
    expect(await at.enter(brief)).toMatchObject({ status: 200 })
    expect(await at.enter(brief)).toMatchObject({ status: 200 })
    at.age(1_800_000 + 10_000)
    expect(await at.enter(brief)).toMatchObject({ status: 401 })
  })
})

describe('issuer and audience', () => {
  it('must be those of the settings, if they name some', async () => {
    const settings = { issuer: 'https://issuer.example.com', audience: 'carillon' }
    await using strict = await authServer(
      { jwtSecret: 'another secret of more than thirty-two bytes', ...settings },
      at,
    )
    const key = new TextEncoder().encode('another secret of more than thirty-two bytes')
    const right = { iss: 'https://issuer.example.com', aud: ['other', 'carillon'] }
    const answers = await Promise.all(
      [right, { ...right, iss: 'https://evil.example.com' }, { ...right, aud: 'other' }, { aud: 'carillon' }, {}].map(
        async (claims) => (await strict.enter(await token(claims, { key }))).status,
      ),
    )
    expect(answers).toEqual([200, 401, 401, 401, 401])
  })
})

function claims(): JWTPayload {
  return { tenant: 'acme', sub: 'ada', scope: 'jobs:read', exp: inSec(3_600) }
}

/** What is told of a token that proves nothing: only that. */
function notSaid(): RegExp {
  return /^the token is not valid here$/
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function forged(header: object, signature: string): string {
  return `${base64(JSON.stringify(header))}.${base64(JSON.stringify(claims()))}.${signature}`
}

function forgedWithSecret(header: object): string {
  return forgedText(JSON.stringify(header), JSON.stringify(claims()))
}

function forgedText(header: string, payload: string): string {
  const signed = `${base64(header)}.${base64(payload)}`
  return `${signed}.${createHmac('sha256', secretBytes).update(signed).digest('base64url')}`
}

function tampered(good: string): string {
  const [header, , signature] = good.split('.')
  return `${header}.${base64(JSON.stringify({ ...claims(), tenant: '*' }))}.${signature}`
}
