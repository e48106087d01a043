/** Which hosts cannot be reached from another machine. */
import { BlockList, isIP } from 'node:net'

const addresses = new BlockList()
addresses.addSubnet('127.0.0.0', 8, 'ipv4')
addresses.addAddress('::1', 'ipv6')

/** A name that is not an address counts only if it is `localhost`: what others resolve to may change. */
export function isLoopback(host: string): boolean {
  const version = isIP(host)
  if (version === 0) return host.toLowerCase() === 'localhost'
  return addresses.check(host, version === 4 ? 'ipv4' : 'ipv6')
}
