/** AWS's published vectors (the Signature Version 4 test suite), and one of a Lambda request as botocore signs it. */
import { describe, expect, it } from 'vitest'
import { encodeStrictly, type RequestToSign, signRequest } from './signature.ts'

const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const suite: RequestToSign = {
  ...{ method: 'GET', host: 'example.amazonaws.com', path: '/', headers: {}, body: '' },
  ...{ region: 'us-east-1', service: 'service', now: new Date('2015-08-30T12:36:00Z') },
}
const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Names of the suite. Its paths are given before they are encoded, ours as they are sent: both are encoded once from there. */
const vectors: [name: string, request: Partial<RequestToSign>, signed: string, signature: string][] = [
  ['get-vanilla', {}, 'host;x-amz-date', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'post-vanilla',
    { method: 'POST' },
    'host;x-amz-date',
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  ],
  ['get-utf8', { path: '/ሴ' }, 'host;x-amz-date', '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85'],
  [
    'get-space',
    { path: '/example space/' },
    'host;x-amz-date',
    '652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741',
  ],
  [
    'get-unreserved',
    { path: '/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz' },
    'host;x-amz-date',
    '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
  ],
  [
    'post-header-key-sort',
    { method: 'POST', headers: { 'my-header1': 'value1' } },
    'host;my-header1;x-amz-date',
    'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  ],
  [
    'get-header-value-trim',
    { headers: { 'my-header1': ' value1', 'my-header2': ' "a   b   c"' } },
    'host;my-header1;my-header2;x-amz-date',
    'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  ],
  [
    'post-x-www-form-urlencoded',
    { method: 'POST', headers: form, body: 'Param1=value1' },
    'content-type;host;x-amz-date',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
]

describe('a signature', () => {
  it.each(vectors)('is that of the suite: %s', (_, request, signed, signature) => {
    const { authorization } = signRequest({ ...suite, ...request }, keys)
    expect(authorization).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${signed}, Signature=${signature}`,
    )
  })

  it('covers the session token: post-sts-header-before', () => {
    const sessionToken =
      'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=='
    const signed = signRequest({ ...suite, method: 'POST' }, { ...keys, sessionToken })
    expect(signed['x-amz-security-token']).toBe(sessionToken)
    expect(signed.authorization).toMatch(/85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead$/)
  })
})

describe('of a Lambda request', () => {
  const request: RequestToSign = {
    ...{ method: 'POST', host: 'lambda.eu-west-1.amazonaws.com', region: 'eu-west-1', service: 'lambda' },
    path: `/2015-03-31/functions/${encodeStrictly('arn:aws:lambda:eu-west-1:123456789012:function:orders:$LATEST')}/invocations`,
    headers: {
      'content-type': 'application/json',
      'x-amz-invocation-type': 'RequestResponse',
      'x-amz-client-context': 'eyJjdXN0b20iOnt9fQ==',
    },
    body: '{"a":1}',
    now: new Date('2026-11-17T03:04:05.678Z'),
  }

  it.each<[string | undefined, string]>([
    [undefined, '37d517a5778b24d747a692c919cd596ad60fcc9f96604f36de9abc06c71d940b'],
    ['FwoGZXIvYXdzEXAMPLETOKEN==', 'cc273a50d3e6e42f848111f3d423c5f22b95be6cc885355ecb82b4577210b491'],
  ])('it is that of botocore 1.44.0 with the session token %s', (sessionToken, signature) => {
    const { authorization } = signRequest(request, { ...keys, ...(sessionToken !== undefined && { sessionToken }) })
    expect(authorization).toMatch(new RegExp(`, Signature=${signature}$`))
  })
})

it('of a path is that of its encoded form, encoded once more', () => {
  expect(encodeStrictly("arn:aws:lambda:a:function:f:$LATEST!'()*")).toBe(
    'arn%3Aaws%3Alambda%3Aa%3Afunction%3Af%3A%24LATEST%21%27%28%29%2A',
  )
})
