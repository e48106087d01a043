import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request as plainRequest } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, getCiphers } from 'node:tls'
import { type ServedNode, type ServeSettings, serve } from '@carillon/server'
import { createApiKey } from '@carillon/server/administration'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

let folder: string
let node: HttpNode

const at = (name: string) => join(folder, name)
const tls = () => ({ certFile: at('cert.pem'), keyFile: at('key.pem') })

/** A certificate that nobody has signed but itself, for 127.0.0.1. */
function selfSigned(cert: string, key: string): void {
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=carillon', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  execFileSync('openssl', [...made, ...names, '-out', at(cert), '-keyout', at(key)], { stdio: 'pipe' })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-tls-'))
  selfSigned('cert.pem', 'key.pem')
  selfSigned('other-cert.pem', 'other-key.pem')
  await writeFile(at('garbage.pem'), '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n')
  node = await httpNode({ tls: tls(), host: '0.0.0.0' })
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const port = () => Number(new URL(node.url).port)

function fetchSecurely(
  path: string,
  options: RequestOptions = {},
): Promise<{ status?: number; protocol: string | null }> {
  return new Promise((resolve, reject) => {
    const whole = { host: '127.0.0.1', port: port(), path, ca: readFileSync(at('cert.pem')), agent: false, ...options }
    request(whole, (answer) => {
      answer.resume()
      const socket = answer.socket as unknown as { getProtocol(): string | null }
      resolve({ status: answer.statusCode, protocol: socket.getProtocol() })
    })
      .on('error', reject)
      .end()
  })
}

describe('a node with a certificate', () => {
  it('is spoken to over HTTPS, with tokens', async () => {
    expect(node.url).toMatch(/^https:/)
    expect(node.node.auth).toBe(true)
    expect(await fetchSecurely('/healthz')).toEqual({ status: 200, protocol: 'TLSv1.3' })
    expect(await fetchSecurely('/v1/pools')).toMatchObject({ status: 401 })
    const { key } = await createApiKey(node.databaseUrl, { name: 'tls', tenant: 'acme', scopes: ['jobs:read'] })
    const headers = { authorization: `Bearer ${key}` }
    expect(await fetchSecurely('/v1/pools', { headers })).toMatchObject({ status: 200 })
  })

  it('takes TLS 1.2 and nothing older', async () => {
    expect(await fetchSecurely('/healthz', { maxVersion: 'TLSv1.2' })).toMatchObject({ protocol: 'TLSv1.2' })
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
    await expect(fetchSecurely('/healthz', old)).rejects.toThrow(/alert protocol version/)
  })

  it('takes of TLS 1.2 only suites with forward secrecy and authenticated encryption', async () => {
    const offered = getCiphers().filter((name) => !name.startsWith('tls_'))
    const taken: string[] = []
    for (const name of offered) {
      const options = { maxVersion: 'TLSv1.2', ciphers: `${name.toUpperCase()}:@SECLEVEL=0` } as const
      const answered = await fetchSecurely('/healthz', options).catch(() => null)
      if (answered) taken.push(name)
    }
    expect(taken.length).toBeGreaterThan(0)
    for (const name of taken) expect(name).toMatch(/^ecdhe-ecdsa-(aes(128|256)-gcm-sha(256|384)|chacha20-poly1305)$/)
  })

  it('answers nothing in plain text', async () => {
    const plain = new Promise((resolve, reject) => {
      plainRequest({ host: '127.0.0.1', port: port(), path: '/healthz' }, resolve).on('error', reject).end()
    })
    await expect(plain).rejects.toThrow()
    expect(await fetchSecurely('/healthz')).toMatchObject({ status: 200 })
  })

  it('shows the certificate it was given, which a careful client does not trust by itself', async () => {
    const fingerprint = await new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: port(), rejectUnauthorized: false }, () => {
        resolve(socket.getPeerX509Certificate()?.subject)
        socket.destroy()
      }).on('error', reject)
    })
    expect(fingerprint).toBe('CN=carillon')
    await expect(fetchSecurely('/healthz', { ca: undefined })).rejects.toThrow(/self-signed/)
  })
})

describe('a node does not start', () => {
  async function refused(settings: ServeSettings): Promise<{ code: string; pointer?: string; message: string }> {
    let started: ServedNode
    try {
      started = await serve({ databaseUrl: node.databaseUrl, port: 0, ...settings }, createLogger('silent'))
    } catch (error) {
      const { code, errors, message } = error as { code: string; errors: { pointer?: string }[]; message: string }
      return { code, pointer: errors[0]?.pointer, message }
    }
    await started.stop()
    throw new Error('it started')
  }

  it('in plain text off loopback', async () => {
    const { code, pointer, message } = await refused({ host: '0.0.0.0' })
    expect({ code, pointer }).toEqual({ code: 'CONFIG_INVALID', pointer: '/tls' })
    expect(message).toContain('--insecure')
  })

  it('without tokens off loopback', async () => {
    expect(await refused({ host: '0.0.0.0', tls: tls(), auth: 'off' })).toMatchObject({ pointer: '/auth' })
  })

  it.each<[string, string, string, string]>([
    ['nowhere.pem', 'key.pem', '/tls/certFile', 'ENOENT'],
    ['cert.pem', 'nowhere.pem', '/tls/keyFile', 'ENOENT'],
    ['garbage.pem', 'key.pem', '/tls/certFile', 'garbage.pem'],
    ['key.pem', 'key.pem', '/tls/certFile', 'key.pem'],
    ['cert.pem', 'cert.pem', '/tls/keyFile', 'cert.pem'],
    ['cert.pem', 'other-key.pem', '/tls/keyFile', 'other-key.pem'],
  ])('with %s and %s', async (cert, key, pointer, said) => {
    const answer = await refused({ tls: { certFile: at(cert), keyFile: at(key) } })
    expect(answer).toMatchObject({ code: 'CONFIG_INVALID', pointer })
    expect(answer.message).toContain(said)
  })
})

describe('a node that is told to be insecure', () => {
  it('starts anywhere, and says whether it asks for tokens', async () => {
    for (const [settings, auth] of [
      [{ host: '0.0.0.0', insecure: true }, true],
      [{ host: '0.0.0.0', insecure: true, auth: 'off' }, false],
      [{ host: '127.0.0.1' }, false],
      [{ host: '127.0.0.1', auth: {} }, true],
    ] as const) {
      const other = await serve({ databaseUrl: node.databaseUrl, port: 0, ...settings }, createLogger('silent'))
      expect(other.auth, JSON.stringify(settings)).toBe(auth)
      const address = other.url.replace('0.0.0.0', '127.0.0.1')
      expect((await fetch(`${address}/v1/pools`)).status).toBe(auth ? 401 : 200)
      await other.stop()
    }
  })
})
