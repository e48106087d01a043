/**
 * Which addresses an HTTP target may reach. What must stay true: nothing inside the operator's network answers a tenant's
 * request unless the operator said so, in whatever notation the address is written. A URL's parser has made one notation
 * of IPv4 (`0x7f.1`, `2130706433`, `127.0.0.1.`) by the time an address comes here; IPv4 inside IPv6 is taken out here.
 */
import { BlockList, isIP, isIPv4 } from 'node:net'

export interface AddressRules {
  /** Null, or why this address may not be connected to for this host. */
  refusal(address: string, host: string): string | null
}

/** Not for the public, by IANA's registries of special addresses; and a cloud's own service at a public address. */
const closedIpv4: [string, number, string][] = [
  ['0.0.0.0', 8, 'this network'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'shared by a provider'],
  ['127.0.0.0', 8, 'loopback'],
  ['168.63.129.16', 32, 'a cloud’s own'],
  ['169.254.0.0', 16, 'link-local'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'reserved'],
  ['192.0.2.0', 24, 'for documentation'],
  ['192.88.99.0', 24, 'reserved'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'for benchmarks'],
  ['198.51.100.0', 24, 'for documentation'],
  ['203.0.113.0', 24, 'for documentation'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved'],
]

/** Of IPv6 only 2000::/3 is for the public, without these. Tunnels could lead to any IPv4 address. */
const closedIpv6: [string, number, string][] = [
  ['::', 128, 'unspecified'],
  ['::1', 128, 'loopback'],
  ['fc00::', 7, 'unique-local'],
  ['fe80::', 10, 'link-local'],
  ['ff00::', 8, 'multicast'],
  ['2001::', 23, 'reserved'],
  ['2001:db8::', 32, 'for documentation'],
  ['2002::', 16, 'a tunnel to IPv4'],
  ['3fff::', 20, 'for documentation'],
]

const publicIpv6 = listOf('2000::', 3)
const closed = [...closedIpv4, ...closedIpv6].map(([net, bits, what]) => ({ list: listOf(net, bits), what }))

/** `allow`: addresses, CIDRs and host names in lower case. */
export function addressRules(allow: readonly string[]): AddressRules {
  const hosts = new Set<string>()
  const open = new BlockList()
  for (const entry of allow) {
    const [net, bits] = entry.split('/') as [string, string | undefined]
    if (isIP(net) === 0) hosts.add(withoutDot(entry))
    else open.addSubnet(net, bits === undefined ? (isIPv4(net) ? 32 : 128) : Number(bits), familyOf(net))
  }
  return {
    refusal(address, host) {
      if (hosts.has(withoutDot(host.toLowerCase()))) return null
      const plain = embeddedIpv4(address) ?? address
      // With a zone it is of this machine's links.
      if (isIP(plain) === 0 || plain.includes('%')) return 'no plain address'
      if (open.check(plain, familyOf(plain))) return null
      for (const { list, what } of closed) if (list.check(plain, familyOf(plain))) return what
      return isIPv4(plain) || publicIpv6.check(plain, 'ipv6') ? null : 'not public'
    },
  }
}

/** The IPv4 address of ::ffff:0:0/96 (mapped) and 64:ff9b::/96 (behind a NAT64), which is where it leads. */
function embeddedIpv4(address: string): string | null {
  if (isIP(address) !== 6 || address.includes('%')) return null
  const groups = groupsOf(address)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  const translated = groups[0] === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every((group) => group === 0)
  if (!mapped && !translated) return null
  const [high, low] = [groups[6]!, groups[7]!]
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/** The eight groups. The URL parser writes IPv6 in one way: compressed, without dots. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::')
  const parse = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  if (tail === undefined) return parse(head)
  const [before, after] = [parse(head), parse(tail)]
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function withoutDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}

function listOf(net: string, bits: number): BlockList {
  const list = new BlockList()
  list.addSubnet(net, bits, familyOf(net))
  return list
}
