/**
 * Signatures of requests to HTTP targets, as the Standard Webhooks specification has them: HMAC-SHA-256 over
 * `id.timestamp.body`. What must stay true: a request counts only if one of its signatures was made with one of the
 * secrets over exactly these bytes, and not long ago.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@carillon/contract/process'
import { wallClock } from './clock.ts'

const secretPrefix = 'whsec_'
const version = 'v1'
/** More than a rotation needs; each costs a comparison. */
const maxSignatures = 20

export interface WebhookToSign {
  /** `whsec_` and base64, or any other text as it is. One signature for each. */
  secrets: readonly string[]
  id: string
  /** Seconds since 1970. */
  timestamp: number
  /** Exactly as it is sent. */
  body: string | Uint8Array
}

export interface WebhookToVerify {
  /** The secrets that may have signed it: two while a key is being replaced. */
  secrets: readonly string[]
  /** The headers of the request: a `Headers`, or an object as `node:http` and most frameworks have it. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The raw body, before parsing. */
  body: string | Uint8Array
  /** How far the signature's time may be from now. */
  toleranceSec?: number
  clock?: Clock
}

export interface VerifiedWebhook {
  /** The execution's id: the same for every attempt, so it can serve as an idempotency key. */
  id: string
  signedAt: Date
}

/** The signature is missing, wrong or too old. Answer 401 and do nothing. */
export class WebhookInvalid extends Error {
  override readonly name = 'WebhookInvalid'
}

/**
 * Verifies that a request to an HTTP target was signed with a known secret, unchanged and recent; throws
 * `WebhookInvalid` otherwise. Give it the body as it came: parsed and written again it is another one.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { text } from 'node:stream/consumers'
 * import { verifyWebhook, WebhookInvalid } from '@carillon/sdk'
 *
 * createServer(async (request, response) => {
 *   try {
 *     const body = await text(request)
 *     const { id } = verifyWebhook({ secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], headers: request.headers, body })
 *     response.end(JSON.stringify({ done: id, payload: JSON.parse(body) }))
 *   } catch (error) {
 *     response.writeHead(error instanceof WebhookInvalid ? 401 : 500).end()
 *   }
 * })
 * ```
 */
export function verifyWebhook(request: WebhookToVerify): VerifiedWebhook {
  const { secrets, headers, body, toleranceSec = 300, clock = wallClock } = request
  if (secrets.length === 0) throw new TypeError('verifyWebhook needs at least one secret')
  const id = header(headers, 'webhook-id')
  const timestamp = header(headers, 'webhook-timestamp')
  const signatures = header(headers, 'webhook-signature').split(' ', maxSignatures)
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookInvalid('webhook-timestamp is not a number of seconds')
  const signedSec = Number(timestamp)
  const ageSec = clock.now() / 1_000 - signedSec
  if (ageSec > toleranceSec) throw new WebhookInvalid(`the signature is ${Math.floor(ageSec)} s old`)
  if (-ageSec > toleranceSec) throw new WebhookInvalid(`the signature is ${Math.floor(-ageSec)} s in the future`)

  const given = signatures.filter((one) => one.startsWith(`${version},`)).map((one) => Buffer.from(one))
  if (given.length === 0) throw new WebhookInvalid(`webhook-signature has no signature of version ${version}`)
  let matches = false
  for (const secret of secrets) {
    const expected = Buffer.from(signature(secret, id, timestamp, body))
    for (const one of given) {
      if (one.length === expected.length && timingSafeEqual(one, expected)) matches = true
    }
  }
  if (!matches) throw new WebhookInvalid('no signature fits: another secret, or another body than the one signed')
  return { id, signedAt: new Date(signedSec * 1_000) }
}

/**
 * The headers that sign a request.
 *
 * @example
 * ```ts
 * import { signWebhook } from '@carillon/sdk'
 *
 * const headers = signWebhook({ secrets: ['a secret text'], id: 'msg_1', timestamp: 1_614_265_330, body: '{"a":1}' })
 * await fetch('https://example.com/hook', { method: 'POST', headers, body: '{"a":1}' })
 * ```
 */
export function signWebhook({ secrets, id, timestamp, body }: WebhookToSign): Record<string, string> {
  const seconds = `${Math.floor(timestamp)}`
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': secrets.map((secret) => signature(secret, id, seconds, body)).join(' '),
  }
}

function signature(secret: string, id: string, timestamp: string, body: string | Uint8Array): string {
  const mac = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body)
  return `${version},${mac.digest('base64')}`
}

/** Names neither the secret nor a part of it. */
function keyOf(secret: string): Buffer {
  const encoded = secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : null
  if (encoded !== null && !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    throw new TypeError(`a secret begins with ${secretPrefix} but does not go on in base64`)
  }
  const key = encoded === null ? Buffer.from(secret) : Buffer.from(encoded, 'base64')
  if (key.length === 0) throw new TypeError('a secret is empty')
  return key
}

function header(headers: WebhookToVerify['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : fromObject(headers, name)
  if (typeof value !== 'string' || value === '') throw new WebhookInvalid(`${name} is missing`)
  return value
}

function fromObject(headers: Exclude<WebhookToVerify['headers'], Headers>, name: string): unknown {
  const key = name in headers ? name : Object.keys(headers).find((one) => one.toLowerCase() === name)
  const value = key === undefined ? undefined : headers[key]
  return Array.isArray(value) && value.length === 1 ? value[0] : value
}
