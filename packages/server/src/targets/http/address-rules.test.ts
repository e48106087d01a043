import { describe, expect, it } from 'vitest'
import { addressRules } from './address-rules.ts'

const strict = addressRules([])

describe('addresses nobody may reach unasked', () => {
  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.254'],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.168.1.1', '192.0.0.192', '192.0.2.1', '198.18.0.1'],
    ...['198.51.100.7', '203.0.113.9', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['100.100.100.200', '168.63.129.16', '::', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
    ...['::ffff:10.0.0.1', '::FFFF:169.254.169.254', '0:0:0:0:0:ffff:c0a8:0101', '::127.0.0.1', '64:ff9b::127.0.0.1'],
    ...['64:ff9b::a00:1', '64:ff9b:1::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1'],
    ...['2001:db8::1', '2001::1', '2002:7f00:1::', '3fff::1', '100::1', '4000::1', '5f00::1', '::2'],
  ])('%s', (address) => {
    expect(strict.refusal(address, 'example.com')).not.toBeNull()
  })

  it.each(['', 'localhost', '1.2.3', '2606:4700::1%0', '999.1.1.1'])('%j, which is no address', (address) => {
    expect(strict.refusal(address, 'example.com')).toBe('no plain address')
  })
})

describe('addresses anybody may reach', () => {
  it.each([
    ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '172.15.255.255'],
    ...['172.32.0.0', '192.167.255.255', '223.255.255.255', '2606:4700:4700::1111', '2a00:1450::1', '::ffff:8.8.8.8'],
    ...['64:ff9b::8.8.8.8', '2001:4860:4860::8888'],
  ])('%s', (address) => {
    expect(strict.refusal(address, 'example.com')).toBeNull()
  })
})

describe('what the operator allows', () => {
  const rules = addressRules(['10.1.0.0/16', '127.0.0.1', 'fd12::/16', 'hooks.internal.'])

  it('is a CIDR, also inside IPv6', () => {
    expect(rules.refusal('10.1.2.3', 'a')).toBeNull()
    expect(rules.refusal('::ffff:10.1.2.3', 'a')).toBeNull()
    expect(rules.refusal('fd12::9', 'a')).toBeNull()
    expect(rules.refusal('10.2.0.1', 'a')).toBe('private')
    expect(rules.refusal('fd13::9', 'a')).toBe('unique-local')
  })

  it('is one address', () => {
    expect(rules.refusal('127.0.0.1', 'a')).toBeNull()
    expect(rules.refusal('127.0.0.2', 'a')).toBe('loopback')
  })

  it('is a host, wherever it is, however it is written', () => {
    expect(rules.refusal('192.168.0.1', 'hooks.internal')).toBeNull()
    expect(rules.refusal('192.168.0.1', 'Hooks.Internal.')).toBeNull()
    expect(rules.refusal('192.168.0.1', 'a.hooks.internal')).toBe('private')
  })
})
