import { request } from 'node:http'
import type { CarillonError } from '@carillon/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anonymousAuthenticator } from '../../../packages/server/src/http/auth/anonymous.ts'
import { type AuthServer, authServer, token } from './auth-server.ts'

let at: AuthServer
let platform: string
let acme: string

beforeAll(async () => {
  at = await authServer()
  platform = await token({ tenant: '*' })
  acme = await token({ tenant: 'acme' })
})
afterAll(() => at[Symbol.asyncDispose]())

const naming = (tenant: string) => ({ headers: { 'carillon-tenant': tenant } })

describe('Carillon-Tenant', () => {
  it('says for whom a platform token acts', async () => {
    expect((await at.enter(platform)).body.tenant).toBe('default')
    expect((await at.enter(platform, naming('acme'))).body).toMatchObject({ tenant: 'acme', platform: true })
    expect((await at.enter(platform)).body.tenant).toBe('default')
  })

  it('may name the own tenant of any token, and no other', async () => {
    expect((await at.enter(acme, naming('acme'))).body).toMatchObject({ tenant: 'acme', platform: false })
    for (const other of ['other', 'default', 'ACME', 'acme2', 'acme, other']) {
      const { status, body } = await at.enter(acme, naming(other))
      expect({ status, code: body.code }, other).toEqual({ status: 403, code: 'TENANT_NOT_YOURS' })
    }
  })

  it.each(['', '*', 'x'.repeat(201), 'a\tb'])('cannot be %j, whoever asks', async (tenant) => {
    for (const who of [platform, acme]) {
      const { status, body } = await at.enter(who, naming(tenant))
      expect({ status, code: body.code, pointer: body.errors[0].pointer }).toEqual({
        status: 422,
        code: 'VALIDATION',
        pointer: '/carillon-tenant',
      })
    }
  })

  it('is UTF-8; what is not would be taken for somebody else', async () => {
    const koeln = Buffer.from('köln', 'utf8').toString('latin1')
    expect((await at.enter(platform, naming(koeln))).body.tenant).toBe('köln')
    expect((await at.enter(await token({ tenant: 'köln' }), naming(koeln))).status).toBe(200)
    expect(await at.enter(platform, naming('k\u00f6ln'))).toMatchObject({ status: 422, body: { code: 'VALIDATION' } })
  })
})

describe('without auth', () => {
  const come = async (headers: Record<string, string>, loopbackOnly = true): Promise<string> => {
    try {
      const authenticator = anonymousAuthenticator({ loopbackOnly })
      const whole = { host: '127.0.0.1:7171', ...headers }
      authenticator.admit!({ method: 'POST', headers: whole })
      return (await authenticator.authenticate(whole, 'admin')).tenant
    } catch (error) {
      return (error as CarillonError).code
    }
  }

  it('everybody on this machine may do everything, for any tenant', async () => {
    expect(await come({})).toBe('default')
    expect(await come({ 'carillon-tenant': 'acme' })).toBe('acme')
    expect(await come({ 'carillon-tenant': '' })).toBe('VALIDATION')
    for (const host of ['localhost:7171', 'LOCALHOST', '[::1]:7171', '127.0.0.1', '127.0.0.3:80']) {
      expect(await come({ host }), host).toBe('default')
    }
  })

  it('a page of another origin may not, nor a name that was made to lead here', async () => {
    for (const host of ['evil.example.com', 'evil.example.com:7171', '127.0.0.1.nip.io:7171', '', '10.0.0.1:7171']) {
      expect(await come({ host }), host).toBe('UNAUTHENTICATED')
    }
    for (const origin of ['https://evil.example.com', 'null', 'http://127.0.0.1:8080', 'http://localhost:7171', 'x']) {
      expect(await come({ origin }), origin).toBe('UNAUTHENTICATED')
    }
    expect(await come({ origin: 'http://127.0.0.1:7171' })).toBe('default')
  })

  it('off loopback any name may be meant, but other origins stay out', async () => {
    expect(await come({ host: 'carillon.example.com' }, false)).toBe('default')
    expect(await come({ host: 'carillon.example.com', origin: 'https://evil.example.com' }, false)).toBe(
      'UNAUTHENTICATED',
    )
  })
})

describe('two headers of one name', () => {
  it('are one tenant that nobody has, or one token', async () => {
    const headers = (tenants: string[], tokens: string[]) => [
      ...['host', new URL(at.url).host],
      ...tenants.flatMap((tenant) => ['carillon-tenant', tenant]),
      ...tokens.flatMap((text) => ['authorization', `Bearer ${text}`]),
    ]
    expect(await raw(headers(['acme', 'other'], [acme]))).toBe(403)
    expect(await raw(headers([], ['garbage', acme]))).toBe(401)
  })
})

function raw(headers: string[]): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(`${at.url}/who/jobs-read`, { headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .on('error', reject)
      .end()
  })
}
