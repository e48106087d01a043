import { describe, expect, it } from 'vitest'
import { type TargetSettings, targetConfig } from '../config/target-config.ts'
import { OperatorRules } from './target-rules.ts'

const url = 'https://example.com/hook'

function refused(target: object, settings: TargetSettings = {}): [code: string, ...pointers: (string | undefined)[]] {
  try {
    new OperatorRules(targetConfig(settings)).check(target, 'acme')
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

  it('may be secret as a whole, in members of its body and in its keys', () => {
    const http = {
      url: { secretRef: 'env:S_URL' },
      bodySecrets: { '/auth/token': { secretRef: 'env:S_TOKEN' } },
      signWith: [{ secretRef: 'env:S_NEW' }, { secretRef: 'env:S_OLD' }],
    }
    expect(refused({ http }, { secrets: ['env:S_*'] })).toEqual(['OK'])
    expect(refused({ http }, { tenantSecrets: { acme: ['env:S_*'] } })).toEqual(['OK'])
    expect(refused({ http }, { tenantSecrets: { globex: ['env:S_*'] } })).toEqual([
      'TARGET_NOT_ALLOWED',
      '/target/http/url',
      '/target/http/bodySecrets/~1auth~1token',
      '/target/http/signWith/0',
      '/target/http/signWith/1',
    ])
  })

  it('says which secrets are allowed', () => {
    const rules = new OperatorRules(targetConfig({ secrets: ['env:S_*'], tenantSecrets: { acme: ['env:ACME__*'] } }))
    const http = { url: { secretRef: 'env:PATH' } }
    const details = (check: () => void) => {
      try {
        check()
      } catch (error) {
        return (error as { errors: object[] }).errors
      }
      return []
    }
    expect(details(() => rules.check({ http }, 'acme'))).toMatchObject([
      { message: 'env:PATH is not allowed', hint: 'Allowed are env:S_*, env:ACME__*' },
    ])
    expect(details(() => rules.check({ http }, 'globex'))).toMatchObject([{ hint: 'Allowed are env:S_*' }])
  })

  it('has no secret within another', () => {
    const secret = { secretRef: 'env:S_A' }
    const bodySecrets = { '/a/b': secret, '/a': secret, '/ab': secret }
    expect(refused({ http: { url, bodySecrets } }, { secrets: ['env:S_*'] })).toEqual([
      'VALIDATION',
      '/target/http/bodySecrets/~1a~1b',
    ])
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
    const env = { SECRET_KEY: { secretRef: 'env:S_KEY' } }
    expect(refused({ shell: { command: 'sh', env } }, { ...settings, secrets: ['env:S_*'] })).toEqual(['OK'])
    expect(refused({ shell: { command: 'sh', env } }, settings)).toEqual([
      'TARGET_NOT_ALLOWED',
      '/target/shell/env/SECRET_KEY',
    ])
    expect(refused({ shell: { command: '/bin/sh' } }, settings)).toEqual([
      'TARGET_NOT_ALLOWED',
      '/target/shell/command',
    ])
  })
})

describe('a Kafka target', () => {
  const cluster = (...topics: string[]) => ({ url: 'kafka://127.0.0.1:9092', topics })
  const one = { kafka: { main: cluster('orders', 'shop.*') } }
  const two = { kafka: { ...one.kafka, other: cluster('logs.*') } }

  it('is off unless the operator lists clusters', () => {
    expect(refused({ kafka: { topic: 'orders' } })).toEqual(['TARGET_NOT_ALLOWED', '/target/kafka'])
  })

  it.each(['orders', 'shop.a', 'shop.a.b', 'shop..'])('may publish to %s', (topic) => {
    expect(refused({ kafka: { topic } }, one)).toEqual(['OK'])
  })

  it.each(['order', 'orders.a', 'shop', 'shop.', 'Orders', 'xshop.a'])('may not publish to %s', (topic) => {
    expect(refused({ kafka: { topic } }, one)).toEqual(['TARGET_NOT_ALLOWED', '/target/kafka/topic'])
  })

  it.each(['', '.', '..', 'a b', 'a/b', 'ä', 'x'.repeat(250), '__consumer_offsets', 7])('has no topic %j', (topic) => {
    expect(refused({ kafka: { topic } }, { kafka: { main: cluster('*') } })).toEqual([
      'VALIDATION',
      '/target/kafka/topic',
    ])
  })

  it('means the only cluster, the one it names, or the default', () => {
    expect(refused({ kafka: { cluster: 'main', topic: 'orders' } }, two)).toEqual(['OK'])
    expect(refused({ kafka: { cluster: 'other', topic: 'orders' } }, two)[1]).toBe('/target/kafka/topic')
    expect(refused({ kafka: { cluster: 'third', topic: 'orders' } }, two)[1]).toBe('/target/kafka/cluster')
    expect(refused({ kafka: { topic: 'orders' } }, two)).toEqual(['TARGET_NOT_ALLOWED', '/target/kafka/cluster'])
    const three = { kafka: { ...two.kafka, default: cluster('orders') } }
    expect(refused({ kafka: { topic: 'orders' } }, three)).toEqual(['OK'])
  })

  it.each(['carillon-fence', 'Carillon-Anything', 'traceparent', 'tracestate'])('may not set %s', (name) => {
    expect(refused({ kafka: { topic: 'orders', headers: { [name]: 'x', mine: 'y' } } }, one)).toEqual([
      'VALIDATION',
      `/target/kafka/headers/${name}`,
    ])
  })
})

describe('a Lambda target', () => {
  const account = 'arn:aws:lambda:eu-west-1:123456789012:function'
  const credentials = { accessKeyId: 'file:/id', secretAccessKey: 'file:/key' }
  const settings = { lambda: { functions: [`${account}:close`, `${account}:orders-*`], credentials } }

  it('is off unless the operator lists functions', () => {
    expect(refused({ lambda: { functionArn: `${account}:close` } })).toEqual(['TARGET_NOT_ALLOWED', '/target/lambda'])
  })

  it.each(['close', 'orders-a', 'orders-a:prod', 'orders-a:$LATEST', 'orders-a:3'])('may call %s', (name) => {
    expect(refused({ lambda: { functionArn: `${account}:${name}` } }, settings)).toEqual(['OK'])
  })

  it.each([
    ...[`${account}:close:prod`, `${account}:orders-`, `${account}:orders`, `${account}:billing`],
    'arn:aws:lambda:eu-west-2:123456789012:function:close',
    'arn:aws:lambda:eu-west-1:123456789013:function:close',
    'arn:aws-cn:lambda:eu-west-1:123456789012:function:close',
  ])('may not call %s', (functionArn) => {
    expect(refused({ lambda: { functionArn } }, settings)).toEqual(['TARGET_NOT_ALLOWED', '/target/lambda/functionArn'])
  })

  it.each([
    ...['close', '', 'arn:aws:s3:::bucket', 'arn:aws:lambda:eu-west-1:12:function:close', `${account}:`, 7],
    ...[`${account}:orders-a/../../x`, `${account}:orders-a:prod:x`, `${account}:orders-a?Qualifier=x`],
    'arn:aws:lambda:evil.example/:123456789012:function:close',
    'arn:aws-x:lambda:eu-west-1:123456789012:function:close',
    `${account}:close\n`,
  ])('has no function %j', (functionArn) => {
    expect(refused({ lambda: { functionArn } }, settings)).toEqual(['VALIDATION', '/target/lambda/functionArn'])
  })

  it('is called in one of two ways', () => {
    const functionArn = `${account}:close`
    expect(refused({ lambda: { functionArn, invocationType: 'Event' } }, settings)).toEqual(['OK'])
    expect(refused({ lambda: { functionArn, invocationType: 'DryRun' } }, settings)).toEqual([
      'VALIDATION',
      '/target/lambda/invocationType',
    ])
  })
})
