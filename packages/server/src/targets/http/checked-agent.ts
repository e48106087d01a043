/**
 * Connections to targets. What must stay true: the address that was checked is the one connected to. A name is resolved
 * once, by the connection itself, and what comes out is checked before it goes on; so a name that answers differently a
 * moment later gains nothing. Every connection comes this way, those after a redirect too, and no proxy of the
 * environment is asked.
 */
import dns from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
import type { AddressRules } from './address-rules.ts'

/** The name may be mended, and resolve to a public address next time. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  /** What kind of address it is. */
  readonly what: string

  constructor(host: string, address: string, what: string) {
    super(`${host} resolves to ${address}, which is ${what}: the operator does not allow it`)
    this.what = what
  }
}

/** `dns.lookup`, asked for all addresses. */
export type Resolve = (
  host: string,
  options: dns.LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: dns.LookupAddress[]) => void,
) => void

const connectTimeoutMs = 10_000

export function checkedAgent(rules: AddressRules, resolve: Resolve = dns.lookup): Agent {
  const connect = buildConnector({ allowH2: false, timeout: connectTimeoutMs, lookup: checkedLookup(rules, resolve) })
  return new Agent({
    allowH2: false,
    // An attempt has a timeout of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect(options, callback) {
      const { hostname } = options
      // A literal address is connected to without a lookup.
      const refusal = isIP(hostname) === 0 ? null : rules.refusal(hostname, hostname)
      if (refusal === null) connect(options, callback)
      else callback(new AddressRefused(hostname, hostname, refusal), null)
    },
  })
}

function checkedLookup(rules: AddressRules, resolve: Resolve): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, [])
      for (const { address } of found) {
        const refusal = rules.refusal(address, host)
        if (refusal !== null) return callback(new AddressRefused(host, address, refusal), [])
      }
      const first = found[0]
      if (first === undefined) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), [])
      else if (options.all) callback(null, found)
      else callback(null, first.address, first.family)
    })
  }
}
