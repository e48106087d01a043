import { describe, expect, it } from 'vitest'
import { signWebhook, verifyWebhook, WebhookInvalid, type WebhookToVerify } from './webhook.ts'

// The vector that the Standard Webhooks specification publishes with its reference libraries.
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
const timestamp = 1_614_265_330
const body = '{"test": 2432232314}'
const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
const signed = { 'webhook-id': id, 'webhook-timestamp': `${timestamp}`, 'webhook-signature': signature }
const other = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'

function verify(more: Partial<WebhookToVerify> = {}, secondsLater = 0) {
  const clock = { now: () => (timestamp + secondsLater) * 1_000 }
  return verifyWebhook({ secrets: [secret], headers: signed, body, clock, ...more })
}

describe('signing', () => {
  it('gives the signature of the specification', () => {
    expect(signWebhook({ secrets: [secret], id, timestamp, body })).toEqual(signed)
  })

  it('gives one signature for each key, and takes any text as a key', () => {
    const headers = signWebhook({ secrets: ['plain text', other], id, timestamp, body })
    expect(headers['webhook-signature']!.split(' ')).toHaveLength(2)
    expect(verify({ headers, secrets: ['plain text'] }).id).toBe(id)
    expect(verify({ headers, secrets: [other] }).id).toBe(id)
  })

  it.each(['whsec_', 'whsec_not base64!', ''])('refuses the key %j without naming it', (bad) => {
    const sign = () => signWebhook({ secrets: [bad], id, timestamp, body })
    expect(sign).toThrow(TypeError)
    if (bad.length > 6) expect(sign).not.toThrow(bad.slice(6))
  })
})

describe('verifying', () => {
  it('accepts the vector of the specification, as text and as bytes', () => {
    expect(verify()).toEqual({ id, signedAt: new Date(timestamp * 1_000) })
    expect(verify({ body: Buffer.from(body) }).id).toBe(id)
  })

  it('takes headers as they come: a Headers, other cases, a list of one', () => {
    expect(verify({ headers: new Headers(signed) }).id).toBe(id)
    const shouted = { 'Webhook-Id': id, 'WEBHOOK-TIMESTAMP': `${timestamp}`, 'Webhook-Signature': [signature] }
    expect(verify({ headers: shouted }).id).toBe(id)
  })

  it('accepts while a key is being replaced: any signature by any secret', () => {
    const many = { ...signed, 'webhook-signature': `v1,AAAA v2,xyz ${signature}` }
    expect(verify({ headers: many, secrets: [other, secret] }).id).toBe(id)
  })

  it.each<[string, Partial<WebhookToVerify>, number, RegExp]>([
    ['another body', { body: `${body} ` }, 0, /no signature fits/],
    ['another secret', { secrets: [other] }, 0, /no signature fits/],
    ['another id', { headers: { ...signed, 'webhook-id': 'msg_2' } }, 0, /no signature fits/],
    ['another time', { headers: { ...signed, 'webhook-timestamp': `${timestamp + 1}` } }, 0, /no signature fits/],
    ['an old one', {}, 301, /301 s old/],
    ['one from the future', {}, -301, /301 s in the future/],
    ['an old one, told to be strict', { toleranceSec: 10 }, 11, /11 s old/],
    ['no signature', { headers: { ...signed, 'webhook-signature': undefined } }, 0, /webhook-signature is missing/],
    ['no id', { headers: new Headers({ 'webhook-timestamp': '1' }) }, 0, /webhook-id is missing/],
    ['no number', { headers: { ...signed, 'webhook-timestamp': '1e9' } }, 0, /not a number of seconds/],
    ['another version', { headers: { ...signed, 'webhook-signature': 'v2,abc' } }, 0, /no signature of version v1/],
    ['two values', { headers: { ...signed, 'webhook-id': [id, id] } }, 0, /webhook-id is missing/],
  ])('refuses %s', (_, more, secondsLater, message) => {
    expect(() => verify(more, secondsLater)).toThrow(WebhookInvalid)
    expect(() => verify(more, secondsLater)).toThrow(message)
  })

  it('needs a secret: an empty list is a mistake of the program', () => {
    expect(() => verify({ secrets: [] })).toThrow(TypeError)
  })

  it('looks at the time of day unless it is given a clock', () => {
    expect(() => verifyWebhook({ secrets: [secret], headers: signed, body })).toThrow(/old/)
  })
})
