/** Which URLs a target may have, as far as the URL itself tells; what a name resolves to is seen when it is connected to. */
import { isIP } from 'node:net'
import type { AddressRules } from './address-rules.ts'

export interface UrlRules {
  addresses: AddressRules
  /** Null: all. */
  ports: ReadonlySet<number> | null
}

/** What is wrong with a URL. */
export interface UrlRefusal {
  message: string
  /** The same without any part of the URL, for one that is a secret. */
  discreet: string
  hint?: string
}

export function parseUrl(text: string, base?: string | URL): URL | UrlRefusal {
  let url: URL
  try {
    url = new URL(text, base)
  } catch {
    return { message: 'is not a URL', discreet: 'is not a URL', hint: 'Such as https://example.com/hook' }
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return { message: `begins with ${url.protocol}`, discreet: 'is neither http nor https', hint: 'Use http or https' }
  }
  if (url.username !== '' || url.password !== '') {
    return {
      message: 'has a user name or password, which every reader of the job would see',
      discreet: 'has a user name or password',
      hint: 'Put them into an Authorization header with a secretRef',
    }
  }
  return url
}

/** Null, or why the operator does not allow it. */
export function urlRefusal(url: URL, rules: UrlRules): UrlRefusal | null {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  if (rules.ports !== null && !rules.ports.has(port)) {
    const discreet = 'uses a port that the operator does not allow'
    return { message: `uses port ${port}`, discreet, hint: `Allowed are ${[...rules.ports].join(', ')}` }
  }
  const host = hostOf(url)
  const addresses = isIP(host) !== 0 ? [host] : isLocalhost(host) ? ['127.0.0.1', '::1'] : []
  const refusals = addresses.map((address) => rules.addresses.refusal(address, host))
  if (refusals.length === 0 || refusals.includes(null)) return null
  return {
    message: `leads to ${host}, an address that is ${refusals[0]}`,
    discreet: `leads to an address that is ${refusals[0]}`,
    hint: 'Use a public address, or ask the operator to allow this one',
  }
}

/** The host without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

function isLocalhost(host: string): boolean {
  return /^(.+\.)?localhost\.?$/i.test(host)
}
