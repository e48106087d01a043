import { afterEach, describe, expect, it } from 'vitest'
import { type TargetSettings, targetConfig } from './target-config.ts'

function refused(settings: object): string | undefined {
  try {
    targetConfig(settings as TargetSettings)
  } catch (error) {
    const { code, errors } = error as { code: string; errors: { pointer?: string }[] }
    expect(code).toBe('CONFIG_INVALID')
    return errors[0]?.pointer
  }
  throw new Error(`accepted: ${JSON.stringify(settings)}`)
}

describe('what targets may do', () => {
  it('by default: HTTP to public addresses, no secrets, no programs', () => {
    const config = targetConfig()
    expect(config).toMatchObject({
      http: true,
      allow: [],
      ports: null,
      signWith: [],
      concurrency: 200,
      maxRequestSec: 900,
    })
    expect(config.shell.size).toBe(0)
    expect(config.secrets.allows('env:HOME', 'default')).toBe(false)
  })

  it('is frozen, and programs find no more of our environment than they need', () => {
    const config = targetConfig({ shell: { sh: '/bin/sh' } })
    expect(() => Object.assign(config, { http: false })).toThrow(TypeError)
    expect(Object.keys(config.shellEnvironment).filter((key) => !['PATH', 'LANG', 'TZ'].includes(key))).toEqual([])
  })

  it('takes addresses, CIDRs and hosts', () => {
    const allow = ['10.0.0.0/8', '127.0.0.1', 'fd00::/8', '::1', 'Hooks.Internal', 'localhost']
    expect(targetConfig({ allow }).allow).toEqual(allow.map((entry) => entry.toLowerCase()))
  })

  it.each([
    ...[
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0/8',
      'fd00::/129',
      'fe80::1%eth0',
      'http://a',
      'a b',
      '',
      '*',
      '*.a',
      'a..b',
    ],
    ...['0x7f.1', '2130706433', '[::1]', 'a/8', '1.2.3.4:80', 7],
  ])('refuses to allow %j', (entry) => {
    expect(refused({ allow: [entry] })).toBe('/targets/allow')
  })

  it.each<[object, string]>([
    [{ http: 'yes' }, '/targets/http'],
    [{ htttp: true }, '/targets/htttp'],
    [{ ports: [0] }, '/targets/ports'],
    [{ ports: ['80'] }, '/targets/ports'],
    [{ ports: 80 }, '/targets/ports'],
    [{ concurrency: 0 }, '/targets/concurrency'],
    [{ secrets: ['env:*'] }, '/targets/secrets'],
    [{ secrets: [7] }, '/targets/secrets'],
    [{ tenantSecrets: ['env:A_*'] }, '/targets/tenantSecrets'],
    [{ tenantSecrets: { '': ['env:A_*'] } }, '/targets/tenantSecrets'],
    [{ tenantSecrets: { acme: 'env:A_*' } }, '/targets/tenantSecrets/acme'],
    [{ tenantSecrets: { acme: ['env:*'] } }, '/targets/tenantSecrets/acme'],
    [{ secrets: ['env:A*'], tenantSecrets: { acme: ['env:ACME__*'] } }, '/targets/tenantSecrets/acme'],
    [{ signWith: ['a key'] }, '/targets/signWith'],
    [{ signWith: ['env:A', 'env:B', 'env:C'] }, '/targets/signWith'],
    [{ shell: { sh: 'sh' } }, '/targets/shell/sh'],
    [{ shell: { sh: '/nowhere/sh' } }, '/targets/shell/sh'],
    [{ shell: { tmp: '/tmp' } }, '/targets/shell/tmp'],
    [{ shell: { 'a b': '/bin/sh' } }, '/targets/shell/a b'],
  ])('refuses %j', (settings, pointer) => {
    expect(refused(settings)).toBe(pointer)
  })
})

describe('clusters of Kafka', () => {
  const url = 'kafka://user:secret-password@host:9092?mechanism=PLAIN'
  const topics = ['orders.*']

  it('are none unless given', () => {
    expect(targetConfig().kafka.size).toBe(0)
    expect([
      ...targetConfig({ kafka: { main: { url, topics }, b: { url: 'env:B_URL', topics } } }).kafka.keys(),
    ]).toEqual(['main', 'b'])
  })

  it.each<[unknown, string]>([
    [[], '/targets/kafka'],
    [{ 'a b': { url, topics } }, '/targets/kafka/a b'],
    [{ main: { topics } }, '/targets/kafka/main/url'],
    [{ main: { url: 'http://host', topics } }, '/targets/kafka/main/url'],
    [{ main: { url: `${url}&x=1`, topics } }, '/targets/kafka/main/url'],
    [{ main: { url: 'kafka://host/prefix', topics } }, '/targets/kafka/main/url'],
    [{ main: { url: 'kafka://host?replicas=3', topics } }, '/targets/kafka/main/url'],
    [{ main: { url } }, '/targets/kafka/main/topics'],
    [{ main: { url, topics: [] } }, '/targets/kafka/main/topics'],
    ...['', 'a b', 'a.*.b', '__x*', '__consumer_offsets', 7].map((topic): [unknown, string] => [
      { main: { url, topics: [topic] } },
      '/targets/kafka/main/topics',
    ]),
    [{ main: { url, topics, prefix: 'x' } }, '/targets/kafka/main/prefix'],
  ])('are refused: %j', (kafka, pointer) => {
    expect(refused({ kafka })).toBe(pointer)
  })

  it('never show a password', () => {
    try {
      targetConfig({ kafka: { main: { url: `${url}&x=1`, topics } } })
      expect.unreachable()
    } catch (error) {
      expect(JSON.stringify(error) + (error as Error).message).not.toContain('secret-password')
    }
  })
})

describe('functions of Lambda', () => {
  const functions = ['arn:aws:lambda:eu-west-1:123456789012:function:orders-*']
  const credentials = { accessKeyId: 'file:/id', secretAccessKey: 'file:/key' }
  const standard = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']
  const before = standard.map((name) => [name, process.env[name]] as const)
  afterEach(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })

  it('are none unless given', () => {
    expect(targetConfig().lambda).toBeNull()
    expect(targetConfig({ lambda: { functions, credentials } }).lambda).toMatchObject({ credentials, endpoint: null })
  })

  it('are called with the keys of the environment unless there are others', () => {
    for (const name of standard) delete process.env[name]
    expect(refused({ lambda: { functions } })).toBe('/targets/lambda/credentials')
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' })
    const keys = { accessKeyId: 'env:AWS_ACCESS_KEY_ID', secretAccessKey: 'env:AWS_SECRET_ACCESS_KEY' }
    expect(targetConfig({ lambda: { functions } }).lambda?.credentials).toEqual(keys)
    process.env.AWS_SESSION_TOKEN = 'c'
    const temporary = { ...keys, sessionToken: 'env:AWS_SESSION_TOKEN' }
    expect(targetConfig({ lambda: { functions } }).lambda?.credentials).toEqual(temporary)
  })

  it.each<[unknown, string]>([
    [null, '/targets/lambda'],
    [{ credentials }, '/targets/lambda/functions'],
    [{ functions: [], credentials }, '/targets/lambda/functions'],
    ...[
      ...['*', 'arn:aws:*', 'arn:aws:lambda:*', 'arn:aws:lambda:eu-west-1:*', 'orders-*', 7],
      ...['arn:aws:lambda:eu-west-1:123456789012:function', 'arn:aws:lambda:eu-west-1:123456789012:function:a*b'],
    ].map((pattern): [unknown, string] => [{ functions: [pattern], credentials }, '/targets/lambda/functions']),
    [
      { functions, credentials: { accessKeyId: 'AKID', secretAccessKey: 'x' } },
      '/targets/lambda/credentials/accessKeyId',
    ],
    [{ functions, credentials: { accessKeyId: 'file:/id' } }, '/targets/lambda/credentials/secretAccessKey'],
    [
      { functions, credentials: { ...credentials, sessionToken: 'env:NOT_SET_ANYWHERE' } },
      '/targets/lambda/credentials/sessionToken',
    ],
    [{ functions, credentials: { ...credentials, profile: 'x' } }, '/targets/lambda/credentials/profile'],
    ...['example.com', 'ftp://a', 'https://a/path', 'https://u:p@a', 'https://a?x', 'http://10.0.0.1'].map(
      (endpoint): [unknown, string] => [{ functions, credentials, endpoint }, '/targets/lambda/endpoint'],
    ),
    [{ functions, credentials, region: 'x' }, '/targets/lambda/region'],
  ])('are refused: %j', (lambda, pointer) => {
    expect(refused({ lambda })).toBe(pointer)
  })

  it('may be called at another place', () => {
    const places = ['https://vpce-1.lambda.eu-west-1.vpce.amazonaws.com', 'http://127.0.0.1:4566', 'http://[::1]:4566']
    for (const endpoint of places) {
      expect(targetConfig({ lambda: { functions, credentials, endpoint } }).lambda?.endpoint?.origin).toBe(endpoint)
    }
  })
})
