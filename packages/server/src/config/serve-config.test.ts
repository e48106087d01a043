import type { CarillonError } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { isLoopback } from './loopback.ts'
import { type ServeSettings, serveConfig } from './serve-config.ts'

const databaseUrl = 'postgres://carillon@localhost:5432/carillon'
const tls = { certFile: 'cert.pem', keyFile: 'key.pem' }
const jwtSecret = 'x'.repeat(32)

/** What is wrong with the settings, as pointer and text; null: nothing. */
function refused(settings: object): { pointer: string | undefined; message: string } | null {
  try {
    serveConfig({ databaseUrl, ...settings } as ServeSettings)
    return null
  } catch (error) {
    const { code, errors, message } = error as CarillonError
    expect(code).toBe('CONFIG_INVALID')
    return { pointer: errors[0]?.pointer, message }
  }
}

describe('a host', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost', 'LOCALHOST'])(
    '%s is loopback',
    (host) => {
      expect(isLoopback(host)).toBe(true)
    },
  )

  it.each([
    '',
    '0.0.0.0',
    '::',
    '128.0.0.1',
    '10.0.0.1',
    '127.1',
    'localhost.example.com',
    'fe80::1',
    '127.0.0.1.nip.io',
  ])('%s is not', (host) => {
    expect(isLoopback(host)).toBe(false)
  })

  it('must be named: nothing would mean all of them', () => {
    expect(refused({ host: '' })).toMatchObject({ pointer: '/host' })
  })
})

describe('who may come in', () => {
  it('is off on loopback, by API key elsewhere', () => {
    expect(serveConfig({ databaseUrl }).auth).toBe('off')
    expect(serveConfig({ databaseUrl, host: '0.0.0.0', tls }).auth).toEqual({ algorithms: [] })
    expect(serveConfig({ databaseUrl, host: '0.0.0.0', insecure: true }).auth).toEqual({ algorithms: [] })
  })

  it('needs a token as soon as any token setting is given', () => {
    expect(serveConfig({ databaseUrl, auth: {} }).auth).toEqual({ algorithms: [] })
    expect(serveConfig({ databaseUrl, auth: { apiKeys: true } }).auth).toMatchObject({ algorithms: [] })
    expect(serveConfig({ databaseUrl, auth: { jwtSecret } }).auth).toMatchObject({ algorithms: ['HS256'] })
    expect(serveConfig({ databaseUrl, auth: { jwks: 'a.json' } }).auth).toMatchObject({
      algorithms: ['RS256', 'ES256'],
    })
    const all = serveConfig({ databaseUrl, auth: { jwks: 'a.json', jwtSecret } })
    expect(all.auth).toMatchObject({ algorithms: ['HS256', 'RS256', 'ES256'] })
  })

  it.each<[object, string | null]>([
    [{ auth: 'off' }, null],
    [{ auth: 'off', host: '127.0.0.2' }, null],
    [{ auth: 'off', host: '0.0.0.0', tls }, '/auth'],
    [{ auth: 'off', host: '0.0.0.0', tls, insecure: true }, null],
    [{ host: '0.0.0.0' }, '/tls'],
    [{ host: 'example.com', auth: { jwtSecret } }, '/tls'],
    [{ host: '0.0.0.0', insecure: true }, null],
    [{ insecure: 'yes' }, '/insecure'],
    [{ auth: 'on' }, '/auth'],
    [{ auth: null }, null],
    [{ auth: { jwtsecret: jwtSecret } }, '/auth/jwtsecret'],
    [{ auth: { apiKeys: false } }, '/auth/apiKeys'],
    [{ auth: { jwtSecret: 'x'.repeat(31) } }, '/auth/jwtSecret'],
    [{ auth: { jwtSecret: 'ä'.repeat(16) } }, null],
    [{ auth: { jwtSecret: `-----BEGIN PUBLIC KEY-----${'x'.repeat(99)}` } }, '/auth/jwtSecret'],
    [{ auth: { jwtSecret: '' } }, '/auth/jwtSecret'],
    [{ auth: { jwtSecret: 42 } }, '/auth/jwtSecret'],
    [{ auth: { jwks: 'http://issuer.example.com/jwks' } }, '/auth/jwks'],
    [{ auth: { jwks: 'http://issuer.example.com/jwks' }, insecure: true }, null],
    [{ auth: { jwks: 'http://127.0.0.1:9/jwks' } }, null],
    [{ auth: { jwks: 'http://[::1]:9/jwks' } }, null],
    [{ auth: { jwks: 'https://issuer.example.com/jwks' } }, null],
    [{ auth: { jwks: 'https://' } }, '/auth/jwks'],
    [{ auth: { issuer: 'https://issuer.example.com' } }, '/auth/issuer'],
    [{ auth: { audience: 'carillon' } }, '/auth/audience'],
    [{ auth: { jwtSecret, algorithms: ['HS256'] } }, null],
    [{ auth: { jwtSecret, algorithms: [] } }, '/auth/algorithms'],
    [{ auth: { jwtSecret, algorithms: 'HS256' } }, '/auth/algorithms'],
    [{ auth: { jwtSecret, algorithms: ['none'] } }, '/auth/algorithms'],
    [{ auth: { jwtSecret, algorithms: ['RS256'] } }, '/auth/algorithms'],
    [{ auth: { jwks: 'a.json', algorithms: ['HS256'] } }, '/auth/algorithms'],
    [{ auth: { jwtSecret, jwks: 'a.json', algorithms: ['RS256'] } }, '/auth/jwtSecret'],
    [{ auth: { jwtSecret, jwks: 'a.json', algorithms: ['HS256'] } }, '/auth/jwks'],
    [{ tls: { certFile: 'cert.pem' } }, '/tls/keyFile'],
    [{ tls: { ...tls, ciphers: 'NULL' } }, '/tls/ciphers'],
    [{ hots: '127.0.0.1' }, '/hots'],
    [{ port: 65_536 }, '/port'],
    [{ databaseUrl: undefined }, '/databaseUrl'],
    [{ dataDir: './data' }, '/databaseUrl'],
  ])('%j: %s', (settings, pointer) => {
    expect(refused(settings)?.pointer ?? null).toBe(pointer)
  })

  it('never puts the secret into a message', () => {
    for (const auth of [{ jwtSecret: 'hunter2' }, { jwtSecret: '-----BEGIN hunter2' }]) {
      expect(refused({ auth })!.message).not.toContain('hunter2')
    }
  })
})
