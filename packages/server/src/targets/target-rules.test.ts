import { describe, expect, it } from 'vitest'
import { type TargetSettings, targetConfig } from '../config/target-config.ts'
import { OperatorRules } from './target-rules.ts'

const url = 'https://example.com/hook'

function refused(target: object, settings: TargetSettings = {}): [code: string, ...pointers: (string | undefined)[]] {
  try {
    new OperatorRules(targetConfig(settings)).check(target)
  } catch (error) {
    const { code, errors } = error as { code: string; errors: { pointer?: string }[] }
    return [code, ...errors.map(({ pointer }) => pointer)]
  }
  return ['OK']
}

describe('an HTTP target', () => {
  it.each([
    ...['http://127.0.0.1/', 'http://127.1/', 'http://2130706433/', 'http://0177.0.0.1/', 'http://0x7f.0.0.1:8080/'],
    ...['http://127.0.0.1./', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/', 'http://[0:0:0:0:0:ffff:7f00:1]/'],
    ...['http://0/', 'http://169.254.169.254/latest/meta-data', 'http://10.1.2.3/', 'http://[fd00:ec2::254]/'],
    ...['http://localhost/', 'http://LOCALHOST.:7171/v1/jobs', 'http://a.localhost/', 'http://[64:ff9b::7f00:1]/'],
    'http://１２７.０.０.１/',
  ])('at %s is refused at once', (literal) => {
    expect(refused({ http: { url: literal } })).toEqual(['TARGET_NOT_ALLOWED', '/target/http/url'])
  })

  it('may be there if the operator says so', () => {
    expect(refused({ http: { url: 'http://127.0.0.1:9/' } }, { allow: ['127.0.0.0/8'] })).toEqual(['OK'])
    expect(refused({ http: { url: 'http://localhost:9/' } }, { allow: ['127.0.0.1'] })).toEqual(['OK'])
    expect(refused({ http: { url: 'http://localhost:9/' } }, { allow: ['localhost'] })).toEqual(['OK'])
    expect(refused({ http: { url } })).toEqual(['OK'])
  })

  it('is held to the operator’s ports', () => {
    const ports = { ports: [443] }
    expect(refused({ http: { url } }, ports)).toEqual(['OK'])
    expect(refused({ http: { url: 'http://example.com/' } }, ports)).toEqual(['TARGET_NOT_ALLOWED', '/target/http/url'])
    expect(refused({ http: { url: 'https://example.com:8443/' } }, ports)[0]).toBe('TARGET_NOT_ALLOWED')
  })

  it.each(['ftp://example.com/', 'file:///etc/passwd', 'example.com', '', 'https://', 'https://u:p@example.com/'])(
    'at %j is no target',
    (bad) => {
      expect(refused({ http: { url: bad } })).toEqual(['VALIDATION', '/target/http/url'])
    },
  )

  it.each([
    ...['Host', 'content-length', 'Connection', 'Transfer-Encoding', 'TE', 'Upgrade', 'Expect', 'Proxy-Authorization'],
    ...[
      'Carillon-Token',
      'carillon-anything',
      'Webhook-Signature',
      'webhook-id',
      'traceparent',
      'Keep-Alive',
      'Trailer',
    ],
  ])('may not set %s', (name) => {
    expect(refused({ http: { url, headers: { [name]: 'x' } } })).toEqual(['VALIDATION', `/target/http/headers/${name}`])
  })

  it('may set other headers once, to what a header can hold', () => {
    expect(refused({ http: { url, headers: { Authorization: 'é', 'Content-Type': 'text/plain' } } })).toEqual(['OK'])
    expect(refused({ http: { url, headers: { 'X-A': '1', 'x-a': '2' } } })).toEqual([
      'VALIDATION',
      '/target/http/headers/x-a',
    ])
    expect(refused({ http: { url, headers: { 'X-A': '…' } } })).toEqual(['VALIDATION', '/target/http/headers/X-A'])
  })

  it('may refer to secrets that are allowed, and is told of each that is not', () => {
    const ref = (secretRef: string) => ({ secretRef })
    const http = {
      url,
      headers: { 'X-A': ref('env:S_A'), 'X-B': ref('env:PATH') },
      signWith: [ref('file:/etc/shadow')],
    }
    expect(refused({ http }, { secrets: ['env:S_*'] })).toEqual([
      'TARGET_NOT_ALLOWED',
      '/target/http/headers/X-B',
      '/target/http/signWith/0',
    ])
    expect(refused({ http }, { secrets: ['env:S_*', 'env:PATH', 'file:/etc/shadow'] })).toEqual(['OK'])
  })

  it('can be turned off', () => {
    expect(refused({ http: { url } }, { http: false })).toEqual(['TARGET_NOT_ALLOWED', '/target/http'])
  })
})

describe('a shell target', () => {
  it('is off unless the operator lists programs, and then one of them', () => {
    expect(refused({ shell: { command: 'sh' } })).toEqual(['TARGET_NOT_ALLOWED', '/target/shell'])
    const settings = { shell: { sh: '/bin/sh' } }
    expect(refused({ shell: { command: 'sh' } }, settings)).toEqual(['OK'])
    expect(refused({ shell: { command: '/bin/sh' } }, settings)).toEqual([
      'TARGET_NOT_ALLOWED',
      '/target/shell/command',
    ])
  })
})
