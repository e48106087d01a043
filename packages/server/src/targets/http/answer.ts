/** What an answer means: success, deferral, a retry, or a permanent failure. */
import { JsonText, numbersIn } from '@carillon/contract'
import { Deferred, encodeJson, PermanentError, RetryLater } from '@carillon/sdk'
import { TargetFailed } from '../target-failed.ts'
import type { Answer, Incoming } from './exchange.ts'

export interface HttpResult {
  status: number
  /** What JSON says, or the text; null if there was none. */
  body: unknown
  /** There was more. */
  truncated?: true
}

const retried = new Set([408, 409, 425, 429])
const maxRetryAfterMs = 86_400_000
const excerptLength = 500

/** The result of a success; throws what says that it was none. `now`: milliseconds since 1970. */
export function judge(incoming: Incoming, now: number): HttpResult | JsonText {
  const { status, bound } = incoming
  if (status === 202) {
    if (bound) throw new Deferred()
    throw new PermanentError(
      'the target answered 202 after a redirect to another origin, which has no token to report with',
    )
  }
  if (status >= 200 && status < 300) return resultOf(incoming)
  throw failureOf(incoming, now)
}

/** What an answer other than a success means. */
export function failureOf({ status, headers, text }: Answer, now: number): Error {
  const excerpt = text.length > excerptLength ? `${text.slice(0, excerptLength)}…` : text
  const message = `the target answered ${status}${excerpt.trim() === '' ? '' : `: ${excerpt.trim()}`}`
  if (!retried.has(status) && status < 500) return new PermanentError(message)
  const retryAfterMs = retryAfter(headers['retry-after'], now)
  return retryAfterMs === null ? new TargetFailed(message) : new RetryLater(retryAfterMs, message)
}

/** Seconds or a date; what is neither was not said. At most a day. */
export function retryAfter(value: string | string[] | undefined, now: number): number | null {
  if (typeof value !== 'string') return null
  const text = value.trim()
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : /[a-z]/i.test(text) ? Date.parse(text) - now : Number.NaN
  return Number.isNaN(ms) ? null : Math.min(Math.max(Math.ceil(ms), 0), maxRetryAfterMs)
}

export function resultOf({ status, headers, text, truncated }: Answer): HttpResult | JsonText {
  if (text === '') return { status, body: null }
  const isJson = /\bjson\b/i.test(`${headers['content-type']}`) || /^\s*[{[]/.test(text)
  if (isJson && !truncated) {
    const parsed = parse(text)
    if (parsed !== undefined && fits({ status, body: parsed })) {
      const asWritten = numbersIn(text) === 'CHANGED' ? new JsonText(`{"status":${status},"body":${text}}`) : null
      if (asWritten === null) return { status, body: parsed }
      if (fits(asWritten)) return asWritten
    }
  }
  if (!truncated && fits({ status, body: text })) return { status, body: text }
  // As JSON a text can be longer than as bytes.
  let body = text
  while (!fits({ status, body, truncated: true })) body = body.slice(0, Math.floor(body.length * 0.9))
  return { status, body, truncated: true }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Asked as the worker will ask: too large, or nested too deeply to be written. */
function fits(result: HttpResult | JsonText): boolean {
  try {
    encodeJson(result, 'result')
    return true
  } catch {
    return false
  }
}
