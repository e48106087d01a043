import { CarillonError, checkOptions } from '@carillon/contract'
import type { Clock, Logger } from '@carillon/contract/process'

/** How to reach an installation. */
export interface NodeOptions {
  /** The nodes, such as `https://carillon-1.example:7171`. One that answers is enough. */
  urls: string | readonly string[]
  /** An API key or JWT. A function is asked before every request, so that a token can be renewed; it should remember. */
  token?: string | (() => string | Promise<string>)
  /** For tokens of the platform: the tenant to speak for. */
  tenant?: string
  /** Certificates to trust besides (or instead of) those of the system. */
  tls?: { ca?: string | Buffer | readonly (string | Buffer)[] }
  /** How long one try of a request may take. */
  timeoutMs?: number
  /** How long to go on, with growing pauses, when no node answers. 0, the default: each node is asked once. */
  patienceMs?: number
  /** Connections to one node at the same time; what comes beyond waits. */
  connections?: number
  logger?: Logger
  clock?: Clock
}

export const nodeOptionNames = [
  ...['urls', 'token', 'tenant', 'tls', 'timeoutMs', 'patienceMs', 'connections', 'logger', 'clock'],
] as readonly (keyof NodeOptions)[]

/** Refuses what is not known, and says what `call` needs when it was given nothing. */
export function checkNodeOptions(options: unknown, call: string, known: readonly string[] = nodeOptionNames): void {
  if (options === undefined)
    throw refuse('/urls', `${call} needs the URL of a node`, `${call}({ urls: 'http://127.0.0.1:7171' })`)
  if (typeof options === 'string')
    throw refuse('/urls', `${call} takes an object, not a text`, `${call}({ urls: '${options}' })`)
  checkOptions(options, known, { code: 'CONFIG_INVALID', what: `the options of ${call}` })
  const { tls } = options as { tls?: unknown }
  if (tls !== undefined) checkOptions(tls, ['ca'], { pointer: '/tls', what: 'tls', code: 'CONFIG_INVALID' })
}

/** The node's address, and what stands before every path at it. */
export interface NodeAddress {
  url: string
  origin: string
  prefix: string
}

export function nodeAddresses(urls: NodeOptions['urls']): NodeAddress[] {
  const given = typeof urls === 'string' ? [urls] : Array.isArray(urls) ? urls : []
  if (given.length === 0) throw refuse('/urls', 'no node is named', 'Give the URL of at least one node')
  return given.map((text, at) => addressOf(text, typeof urls === 'string' ? '/urls' : `/urls/${at}`))
}

function addressOf(text: unknown, pointer: string): NodeAddress {
  const url = typeof text === 'string' ? URL.parse(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw refuse(pointer, `${String(text)} is not an http or https URL`, 'Such as https://carillon.example:7171')
  }
  if (url.username !== '' || url.password !== '') {
    throw refuse(pointer, 'a URL must not carry a user or password', 'Give a token instead')
  }
  if (url.search !== '' || url.hash !== '') throw refuse(pointer, `${text} has a query or fragment`, 'Leave it out')
  const prefix = url.pathname.replace(/\/+$/, '')
  return { url: url.origin + prefix, origin: url.origin, prefix }
}

/** Whether what is sent there can be read on the way. */
export function isOpenToOthers({ origin }: NodeAddress): boolean {
  const { protocol, hostname } = new URL(origin)
  if (protocol === 'https:') return false
  return !(
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\./.test(hostname)
  )
}

function refuse(pointer: string, message: string, hint: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', { pointer, message, hint })
}
