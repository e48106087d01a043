import { describe, expect, it } from 'vitest'
import { etcdPlace } from './etcd-place.ts'

describe('the setting leadership', () => {
  it('names one host, with the usual port', () => {
    expect(etcdPlace('etcd://etcd.internal')).toEqual({
      ...{ hosts: ['http://etcd.internal:2379'], auth: null, tls: null, path: 'carillon', fallback: false },
    })
  })

  it('names several hosts, a user, TLS, a path and the fallback', () => {
    expect(
      etcdPlace('etcds://carillon:p%40ss@a:2379,b:4001/prod/?ca=/ca.pem&cert=/c.pem&key=/k.pem&fallback=postgres'),
    ).toEqual({
      hosts: ['https://a:2379', 'https://b:4001'],
      auth: { username: 'carillon', password: 'p@ss' },
      tls: { ca: '/ca.pem', cert: '/c.pem', key: '/k.pem' },
      path: 'prod',
      fallback: true,
    })
  })

  it.each([
    ['redis://a', /etcd:\/\/ or etcds:\/\//],
    ['etcd://', /is not a URL/],
    ['etcd://a:99999', /no host and port/],
    ['etcd://a,,b', /no host and port/],
    ['etcd://a?falback=postgres', /falback, which is none of fallback, ca/],
    ['etcd://a?fallback=redis', /`postgres` only/],
    ['etcds://a', /`ca`/],
    ['etcd://a?ca=x', /`ca`/],
    ['etcds://a?ca=x&cert=y', /`cert` and `key` together/],
    ['etcd://me@a', /password/],
    ['etcds://a,[::1]:4001?ca=x', /names of hosts/],
    ['etcd://me:%zz@a', /hexadecimal/],
  ])('refuses %s, and does not repeat what may hold a password', (url, message) => {
    expect(() => etcdPlace(url)).toThrow(message)
    expect(() => etcdPlace(url)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    expect(() => etcdPlace(`${url}&secret`)).not.toThrow(/secret@/)
  })
})
