import { describe, expect, it } from 'vitest'
import { redisAddress } from './redis-address.ts'

const parse = (url: string) => redisAddress(url, 'signals')

describe('the address of Redis', () => {
  it('is one server', () => {
    expect(parse('redis://host')).toEqual({ kind: 'SERVER', url: 'redis://host', tls: null })
    expect(parse('rediss://me:p%40ss@host:6380/2')).toMatchObject({ kind: 'SERVER', tls: {} })
    expect(parse('rediss://host:6380/2?ca=/ca.pem&cert=/c.pem&key=/k.pem')).toEqual({
      ...{ kind: 'SERVER', url: 'rediss://host:6380/2', tls: { ca: '/ca.pem', cert: '/c.pem', key: '/k.pem' } },
    })
  })

  it('is a master that sentinels name, or a cluster', () => {
    expect(parse('redis+sentinel://:secret@a,b:1/main')).toEqual({
      ...{ kind: 'SENTINEL', masterName: 'main', password: 'secret', tls: null },
      places: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 1 },
      ],
    })
    expect(parse('rediss+cluster://me:p%40ss@a:7000,[::1]')).toEqual({
      ...{ kind: 'CLUSTER', username: 'me', password: 'p@ss', tls: {} },
      places: [
        { host: 'a', port: 7_000 },
        { host: '::1', port: 6_379 },
      ],
    })
  })

  it.each([
    ['etcd://a', /redis:\/\//],
    ['redis://a,b', /several hosts/],
    ['redis+sentinel://a', /which master/],
    ['redis+cluster://a/0', /no number of a database/],
    ['redis://a?x=1', /the parameter x/],
    ['redis://a?ca=x', /rediss:\/\//],
    ['rediss://a?cert=x', /`cert` and `key` together/],
  ])('refuses %s', (url, message) => {
    expect(() => parse(url)).toThrow(message)
    expect(() => parse(url)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})
