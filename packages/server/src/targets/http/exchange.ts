/**
 * One request and its answer, over at most three redirects. Only 307 and 308 are followed, since they keep method and body.
 * What belongs to this target alone (the job's headers, the signature, the token, secrets in the body) does not go to another origin,
 * and nothing goes from https to http. If the URL is a secret, no error holds a part of it, or of where it redirects to.
 */
import { PermanentError } from '@carillon/sdk'
import { type Dispatcher, request } from 'undici'
import { parseUrl, type UrlRules, urlRefusal } from './url-rules.ts'

export interface Outgoing {
  method: Dispatcher.HttpMethod
  url: URL
  /** Sent to every origin. */
  headers: Record<string, string>
  /** Sent to the origin of the target only. */
  boundHeaders: Record<string, string>
  body: string | null
  /** The body holds secrets: it goes to the origin of the target only. */
  boundBody: boolean
  /** The reference to the URL, if that is a secret. */
  urlRef: string | null
}

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** There was more than was read. */
  truncated: boolean
}

export interface Incoming extends Answer {
  /** It came from the origin of the target, which has the token. */
  bound: boolean
  /** Where the request was redirected to. */
  redirects: readonly URL[]
}

export interface ExchangeOptions {
  dispatcher: Dispatcher
  rules: UrlRules
  signal: AbortSignal
  maxBytes: number
}

const maxRedirects = 3

export async function exchange(outgoing: Outgoing, options: ExchangeOptions): Promise<Incoming> {
  let { url } = outgoing
  const redirects: URL[] = []
  for (;;) {
    const refusal = urlRefusal(url, options.rules)
    if (refusal) throw new PermanentError(`the target ${outgoing.urlRef === null ? refusal.message : refusal.discreet}`)
    const bound = url.origin === outgoing.url.origin
    if (!bound && outgoing.boundBody) {
      throw new PermanentError('the target redirects to another origin, where the secrets of its body may not go')
    }
    const { statusCode, headers, body } = await request(url, {
      method: outgoing.method,
      headers: bound ? { ...outgoing.headers, ...outgoing.boundHeaders } : outgoing.headers,
      body: outgoing.body,
      dispatcher: options.dispatcher,
      signal: options.signal,
    })
    if (statusCode !== 307 && statusCode !== 308) {
      return { status: statusCode, headers, bound, redirects, ...(await readText(body, options.maxBytes)) }
    }
    body.on('error', () => {}).destroy()
    if (redirects.length === maxRedirects)
      throw new PermanentError(`the target redirects more than ${maxRedirects} times`)
    url = redirected(url, headers.location)
    redirects.push(url)
  }
}

function redirected(from: URL, location: string | string[] | undefined): URL {
  const to = typeof location === 'string' ? parseUrl(location, from) : null
  if (!(to instanceof URL)) throw new PermanentError('the target redirects without saying where to')
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw new PermanentError('the target redirects to plain http')
  return to
}

/** Reads as much as is wanted and leaves the rest: a target cannot fill the memory. */
export async function readText(body: Dispatcher.ResponseData['body'], maxBytes: number) {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > maxBytes) break
  }
  const text = Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8')
  return { text, truncated: bytes > maxBytes }
}
