import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type AuthServer,
  authServer,
  type Installation,
  inSec,
  jwtSecret,
  startInstallation,
  token,
} from './auth-server.ts'

interface Pair {
  kid: string
  alg: 'RS256' | 'ES256'
  publicKey: KeyObject
  privateKey: KeyObject
}

function rsa(kid: string, modulusLength = 2_048): Pair {
  return { kid, alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength }) }
}

function ec(kid: string, namedCurve = 'P-256'): Pair {
  return { kid, alg: 'ES256', ...generateKeyPairSync('ec', { namedCurve }) }
}

function jwks(...pairs: Pair[]): { keys: object[] } {
  return {
    keys: pairs.map(({ kid, alg, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' })),
  }
}

const signedBy = (pair: Pair, kid: string | undefined = pair.kid) =>
  token({}, { alg: pair.alg, kid, key: pair.privateKey })

const first = rsa('first')
const second = ec('second')
const closing: (() => Promise<unknown>)[] = []
const wallClock = Date.now
let passed = 0
let home: Installation

beforeAll(async () => {
  home = await startInstallation()
})
afterAll(() => home[Symbol.asyncDispose]())

afterEach(async () => {
  vi.restoreAllMocks()
  passed = 0
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(settings: Parameters<typeof authServer>[0]): Promise<AuthServer> {
  const at = await authServer(settings, home)
  closing.push(() => at[Symbol.asyncDispose]())
  return at
}

/** Lets time pass for this server and for jose, which goes by the wall clock. */
function age(at: AuthServer, ms: number): void {
  at.age(ms)
  passed += ms
  vi.spyOn(Date, 'now').mockImplementation(() => wallClock() + passed)
}

async function fileOf(content: unknown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-jwks-'))
  closing.push(() => rm(folder, { recursive: true }))
  const path = join(folder, 'jwks.json')
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** An issuer whose answer can be changed, and who counts how often he is asked. */
async function issuer(keys: object) {
  const state = { status: 200, body: JSON.stringify(keys), asked: 0 }
  const server: Server = createServer((_, answer) => {
    state.asked += 1
    answer.writeHead(state.status).end(state.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks` }
}

describe('keys from a file', () => {
  it('prove RS256 and ES256 tokens, with a key id or, if only one fits, without', async () => {
    const at = await open({ jwks: await fileOf(jwks(first, second)) })
    for (const good of [
      await signedBy(first),
      await signedBy(second),
      await token({}, { alg: 'ES256', key: second.privateKey }),
    ]) {
      expect(await at.enter(good)).toMatchObject({ status: 200, body: { tenant: 'acme', actor: 'user:ada' } })
    }
  })

  it('prove nothing else', async () => {
    const at = await open({ jwks: await fileOf(jwks(first, second)), jwtSecret })
    const stranger = rsa('first')
    const refused = {
      'somebody else’s key under a known id': await signedBy(stranger),
      'an unknown id': await signedBy(first, 'third'),
      'the id of another kind of key': await signedBy(first, 'second'),
      'HS256 with the public key as PEM': hmac(first.publicKey.export({ format: 'pem', type: 'spki' })),
      'HS256 with the public key as DER': hmac(first.publicKey.export({ format: 'der', type: 'spki' })),
      'HS256 with the public key as JWK': hmac(JSON.stringify(jwks(first).keys[0])),
      'PS256 with the same key': await token({}, { alg: 'PS256', kid: 'first', key: first.privateKey }),
      'a key that comes with the token': await withOwnKey(stranger),
    }
    for (const [what, forged] of Object.entries(refused)) {
      const { status, body } = await at.enter(forged)
      expect({ status, detail: body.detail }, what).toEqual({ status: 401, detail: 'the token is not valid here' })
    }
    expect(await at.enter(await token())).toMatchObject({ status: 200 })
  })

  it('may hold others, of no use to us, and never their private halves', async () => {
    const weak = rsa('weak', 1_024)
    const file = await fileOf({
      keys: [
        null,
        { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' },
        { kty: 'RSA', kid: 'broken' },
        { ...jwks(ec('p384', 'P-384')).keys[0], alg: 'ES384' },
        { ...jwks(rsa('encrypts')).keys[0], use: 'enc' },
        ...jwks(weak).keys,
        { ...first.privateKey.export({ format: 'jwk' }), kid: 'first' },
        ...jwks(rsa('first')).keys,
      ],
    })
    const at = await open({ jwks: file, algorithms: ['RS256'] })
    expect(await at.enter(await signedBy(first))).toMatchObject({ status: 200 })
    const withSecret = hmac(Buffer.from('c2VjcmV0', 'base64url'), 'oct')
    for (const forged of [withSecret, await signedBy(second)]) {
      expect(await at.enter(forged)).toMatchObject({ status: 401 })
    }
  })

  it('are read again for an id that is not known, so that they can be exchanged while the node runs', async () => {
    const file = await fileOf(jwks(first))
    const at = await open({ jwks: file })
    await writeFile(file, JSON.stringify(jwks(first, second)))
    expect(await at.enter(await signedBy(second))).toMatchObject({ status: 401 })
    age(at, 10_000)
    expect(await at.enter(await signedBy(second))).toMatchObject({ status: 200 })
  })

  it.each([
    ['nothing', null],
    ['no JSON', '{'],
    ['no list', { keys: 'x' }],
    ['an empty list', { keys: [] }],
    ['null', 'null'],
  ])('must be there and of use at the start: %s', async (_, content) => {
    const path = content === null ? '/nowhere/jwks.json' : await fileOf(content)
    await expect(open({ jwks: path })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      errors: [{ pointer: '/auth/jwks', message: expect.stringContaining(path) }],
    })
  })
})

describe('keys from a URL', () => {
  it('are asked for again when an id is not known, but not by every inventor of ids', async () => {
    const { state, url } = await issuer(jwks(first))
    const at = await open({ jwks: url })
    for (let i = 0; i < 20; i++)
      expect(await at.enter(await signedBy(first, `invented-${i}`))).toMatchObject({ status: 401 })
    expect(state.asked).toBe(1)
    state.body = JSON.stringify(jwks(first, second))
    age(at, 10_000)
    const all = await Promise.all(Array.from({ length: 20 }, async () => at.enter(await signedBy(second))))
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200))
    expect(state.asked).toBe(2)
  })

  it('go on when the issuer is down; for others it cannot be known', async () => {
    const { state, url } = await issuer(jwks(first))
    const at = await open({ jwks: url })
    expect(await at.enter(await signedBy(first))).toMatchObject({ status: 200 })
    state.status = 500
    age(at, 400_000)
    for (let i = 0; i < 5; i++) {
      expect(await at.enter(await signedBy(first))).toMatchObject({ status: 200 })
      const { status, body, headers } = await at.enter(await signedBy(second))
      expect({ status, code: body.code }).toEqual({ status: 503, code: 'UNAVAILABLE' })
      expect(headers.get('retry-after')).toBe('1')
    }
    expect(state.asked).toBe(2)
    state.status = 200
    state.body = JSON.stringify(jwks(first, second))
    age(at, 10_000)
    expect(await at.enter(await signedBy(second))).toMatchObject({ status: 200 })
  })

  it('that were withdrawn are soon worth nothing', async () => {
    const { state, url } = await issuer(jwks(first, second))
    const at = await open({ jwks: url })
    const soonWorthless = await signedBy(first)
    expect(await at.enter(soonWorthless)).toMatchObject({ status: 200 })
    state.body = JSON.stringify(jwks(second))
    age(at, 300_000)
    expect(await at.enter(soonWorthless)).toMatchObject({ status: 401 })
    expect(await at.enter(await signedBy(second))).toMatchObject({ status: 200 })
  })

  it.each<[string, Partial<{ status: number; body: string }>]>([
    ['an answer that is no JSON', { body: '<html>' }],
    ['an answer that never ends well', { body: ' '.repeat(2 * 1024 * 1024) }],
    ['a redirect', { status: 302 }],
    ['an error', { status: 404 }],
  ])('need not be there when the node starts: %s', async (_, bad) => {
    const { state, url } = await issuer(jwks(first))
    const good = { ...state }
    Object.assign(state, bad)
    const at = await open({ jwks: url, jwtSecret })
    expect(await at.enter(await signedBy(first))).toMatchObject({ status: 503 })
    expect(await at.enter(await token())).toMatchObject({ status: 200 })
    Object.assign(state, { status: good.status, body: good.body })
    age(at, 10_000)
    expect(await at.enter(await signedBy(first))).toMatchObject({ status: 200 })
  })
})

function hmac(key: string | Buffer, kid = 'first'): string {
  const parts = [
    { alg: 'HS256', kid },
    { tenant: '*', sub: 'eve', scope: 'jobs:read', exp: inSec(3_600) },
  ]
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}

/** A token that brings the key to prove it by in its own header. */
async function withOwnKey(pair: Pair): Promise<string> {
  const jwk = pair.publicKey.export({ format: 'jwk' })
  return new SignJWT({ tenant: '*', scope: 'jobs:read', exp: inSec(3_600) })
    .setProtectedHeader({ alg: 'RS256', jwk: jwk as never, jku: 'http://127.0.0.1:1/jwks', kid: 'invented' })
    .sign(pair.privateKey)
}
