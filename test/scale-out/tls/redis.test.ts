/** Redis with TLS, users and certificates of clients: it works with our URLs; what is wrong is said, and a node starts without it. */
import { defineHandler } from '@carillon/server'
import { afterAll, describe, expect, it } from 'vitest'
import { redisAddress } from '../../../packages/server/src/config/redis-address.ts'
import { RedisConnection } from '../../../packages/server/src/redis/connection.ts'
import { freePort, type RunningServer } from '../../../scripts/servers/process.ts'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { testCarillon } from '../../support/carillon.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import { keptLogs } from '../../support/kept-logs.ts'
import { describeWith } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

interface Secured {
  redis: RunningServer
  tlsPort: number
  certificates: Certificates
}

/** Only pings are allowed without a user; `carillon` has what a node needs and no more. */
const users = [
  ...['--user', 'default', 'on', 'nopass', '-@all', '+ping'],
  ...['--user', 'carillon', 'on', '>s3cret', '~carillon:*', '&carillon:*', '+@all', '-@admin', '-@dangerous'],
]

async function start(): Promise<Secured> {
  const certificates = makeCertificates()
  const { ca, server } = certificates
  const tlsPort = await freePort()
  const tls = ['--tls-port', `${tlsPort}`, '--tls-cert-file', server.cert, '--tls-key-file', server.key]
  const redis = await startRedis({ args: [...tls, '--tls-ca-cert-file', ca, ...users] })
  return { redis, tlsPort, certificates }
}

await describeWith('Redis', start, ({ redis, tlsPort, certificates }) => {
  const { ca, otherCa, client } = certificates
  const own = `&cert=${client.cert}&key=${client.key}`
  const good = `rediss://carillon:s3cret@127.0.0.1:${tlsPort}?ca=${ca}${own}`
  afterAll(async () => {
    await redis.stop()
    certificates.remove()
  })

  async function connecting(url: string) {
    const { logger, warnings } = keptLogs()
    const address = redisAddress(url, 'signals')
    const connection = new RedisConnection({ address, installationId: async () => 'tls', logger })
    const began = performance.now()
    await connection.start()
    const tookMs = performance.now() - began
    return { connection, warnings, tookMs, [Symbol.asyncDispose]: () => connection.stop() }
  }

  describe('Redis with TLS', () => {
    it('is reached with a user, a password and a certificate', async () => {
      await using connected = await connecting(good)
      await until(() => !connected.connection.isAway())
      expect(await connected.connection.get(connected.connection.key('a', 'b'))).toBeNull()
      const heard: string[] = []
      connected.connection.subscribe(connected.connection.channel('c'), (message) => heard.push(message))
      await until(async () => {
        await connected.connection.publish(connected.connection.channel('c'), 'hello')
        return heard.length > 0
      })
    })

    it.each([
      ['a wrong password', good.replace('s3cret', 'wrong'), /WRONGPASS/],
      ['no user', good.replace('carillon:s3cret@', ''), /NOPERM|NOAUTH/],
      ['another CA', good.replace(ca, otherCa), /certificate/],
      ['no CA', `rediss://carillon:s3cret@127.0.0.1:${tlsPort}`, /certificate/],
      ['no certificate', good.replace(own, ''), /certificate|alert|closed/],
      ['plain text at its TLS port', `redis://carillon:s3cret@127.0.0.1:${tlsPort}`, /ECONNRESET|closed|EPIPE/],
      ['TLS at its plain port', good.replace(`:${tlsPort}`, `:${redis.port}`), /timeout|closed|SSL|TLS/i],
    ])('with %s is away, which is said with the reason, and does not delay the start', async (_, url, reason) => {
      await using connected = await connecting(url)
      expect(connected.tookMs).toBeLessThan(3_000)
      await until(() => connected.warnings.some((warning) => reason.test(warning)))
      expect(connected.connection.isAway()).toBe(true)
      expect(connected.warnings[0]).toMatch(/Redis is away; PostgreSQL does its work/)
      expect(connected.warnings.join()).not.toContain('s3cret')
    })

    it('a file that cannot be read is refused at start', async () => {
      await expect(connecting(good.replace(ca, '/none/ca.pem'))).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('ca=/none/ca.pem cannot be read (ENOENT)'),
      })
    })

    it.each([
      ['serves a node', good, /^$/],
      ['refuses a node, which works without it', good.replace('s3cret', 'wrong'), /WRONGPASS/],
    ])('%s', { timeout: 60_000 }, async (_, url, warned) => {
      const tick = defineHandler<object>({ name: 'tick' })
      const { logger, warnings } = keptLogs()
      let runs = 0
      await using installation = await testCarillon((carillon) => carillon.handle(tick, () => void runs++), {
        ...{ hotWindow: url, signals: url, logger, logLevel: undefined },
      })
      await installation.carillon.schedule(tick, {}, { cron: '* * * * * *' })
      await until(() => runs >= 3)
      expect(warnings.filter((warning) => warning.includes('Redis')).join()).toMatch(warned)
    })
  })
})
