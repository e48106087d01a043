/** Which headers a job may set itself, and what a value may be. */
import { type ErrorDetail, pointerPart, type WireJobInput } from '@carillon/contract'

export type HttpTarget = NonNullable<WireJobInput['target']['http']>
export type HeaderValue = NonNullable<HttpTarget['headers']>[string]

/** Those of the connection, those that say who asks, and those that the signature rests on. */
const ours =
  /^(carillon-.*|webhook-.*|proxy-.*|host|content-length|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|http2-settings|traceparent|tracestate)$/i

/** Latin-1 without control characters: what a header can hold. */
const plain = /^[\t\x20-\x7e\x80-\xff]*$/

export function canBeHeader(value: string): boolean {
  return plain.test(value)
}

export function headerProblems(headers: NonNullable<HttpTarget['headers']>): ErrorDetail[] {
  const seen = new Set<string>()
  return Object.entries(headers).flatMap(([name, value]): ErrorDetail[] => {
    const pointer = `/target/http/headers/${pointerPart(name)}`
    const lower = name.toLowerCase()
    const twice = seen.has(lower)
    seen.add(lower)
    if (ours.test(name)) return [{ pointer, message: `${name} is set by Carillon`, hint: 'Leave it out' }]
    if (twice) return [{ pointer, message: `${name} is there twice`, hint: 'Names differ by more than their case' }]
    if (typeof value === 'string' && !canBeHeader(value)) {
      return [{ pointer, message: 'has characters that a header cannot hold', hint: 'Use Latin-1, or encode it' }]
    }
    return []
  })
}
