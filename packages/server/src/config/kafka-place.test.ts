import { describe, expect, it } from 'vitest'
import { kafkaPlace } from './kafka-place.ts'

const place = (url: string) => kafkaPlace(url, 'queue')

describe('the address of Kafka', () => {
  it('names one broker, with the usual port', () => {
    expect(place('kafka://kafka.internal')).toEqual({
      ...{ brokers: ['kafka.internal:9092'], auth: null, tls: null, prefix: 'carillon', replicas: null },
    })
  })

  it('names several brokers, a user, TLS, a prefix and replicas', () => {
    expect(
      place('kafkas://me:p%40ss@a:9093,[::1]/prod/?mechanism=PLAIN&ca=/ca.pem&cert=/c.pem&key=/k.pem&replicas=3'),
    ).toEqual({
      brokers: ['a:9093', '[::1]:9092'],
      auth: { mechanism: 'PLAIN', username: 'me', password: 'p@ss' },
      tls: { ca: '/ca.pem', cert: '/c.pem', key: '/k.pem' },
      prefix: 'prod',
      replicas: 3,
    })
    expect(place('kafkas://me:secret@a')).toMatchObject({ auth: { mechanism: 'SCRAM-SHA-512' }, tls: {} })
  })

  it.each([
    ['redis://a', /kafka:\/\/ or kafkas:\/\//],
    ['kafka://a:99999', /no host and port/],
    ['kafka://a?mechansim=PLAIN', /mechansim, which is none of mechanism/],
    ['kafka://me:secret@a?mechanism=MD5', /none of PLAIN, SCRAM-SHA-256/],
    ['kafka://a?mechanism=PLAIN', /no user and password/],
    ['kafka://me@a', /password/],
    ['kafka://a?ca=x', /kafkas/],
    ['kafkas://a?cert=x', /`cert` and `key` together/],
    ['kafka://a/with/slash', /name of a topic/],
    ['kafka://a?replicas=0', /replicas/],
  ])('refuses %s, and does not repeat what may hold a password', (url, message) => {
    expect(() => place(url)).toThrow(message)
    expect(() => place(url)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    expect(() => place(url)).not.toThrow(/secret@/)
  })
})
