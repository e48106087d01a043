/** etcd with TLS, certificates of clients and users: it elects with our URLs; what is wrong is said, and a node starts without it. */
import { type Carillon, defineHandler } from '@carillon/server'
import { Etcd3, Range } from 'etcd3'
import { afterAll, describe, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { freePort, type RunningServer } from '../../../scripts/servers/process.ts'
import { testCarillon } from '../../support/carillon.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import { keptLogs } from '../../support/kept-logs.ts'
import { describeWith } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

interface Secured {
  etcd: RunningServer
  tlsPort: number
  certificates: Certificates
}

/** Tokens of etcd end so soon here that a node has to get new ones. */
const tokenSec = 2

async function start(): Promise<Secured> {
  const certificates = makeCertificates()
  const { ca, server } = certificates
  const tlsPort = await freePort()
  const etcd = await startEtcd({
    listen: [`https://127.0.0.1:${tlsPort}`],
    args: [
      ...['--cert-file', server.cert, '--key-file', server.key, '--client-cert-auth', '--trusted-ca-file', ca],
      ...['--auth-token-ttl', `${tokenSec}`],
    ],
  })
  await turnAuthOn(etcd)
  return { etcd, tlsPort, certificates }
}

async function turnAuthOn({ port }: RunningServer): Promise<void> {
  const admin = new Etcd3({ hosts: `http://127.0.0.1:${port}` })
  await admin.role('root').create()
  await admin.user('root').create('root')
  await admin.user('root').addRole('root')
  await admin.role('carillon').create()
  await admin.role('carillon').grant({ permission: 'Readwrite', range: Range.prefix('carillon/') })
  await admin.user('carillon').create('s3cret')
  await admin.user('carillon').addRole('carillon')
  await admin.auth.authEnable()
  admin.close()
}

await describeWith('etcd', start, ({ etcd, tlsPort, certificates }) => {
  const { ca, otherCa, client } = certificates
  const own = `&cert=${client.cert}&key=${client.key}`
  const good = `etcds://carillon:s3cret@localhost:${tlsPort}?ca=${ca}${own}`
  afterAll(async () => {
    await etcd.stop()
    certificates.remove()
  })

  const tick = defineHandler<object>({ name: 'tick' })

  async function node(leadership: string) {
    const { logger, warnings } = keptLogs()
    let runs = 0
    const prepare = (carillon: Carillon) => carillon.handle(tick, () => void runs++)
    const installation = await testCarillon(prepare, { leadership, logger, logLevel: undefined })
    await installation.carillon.schedule(tick, {}, { cron: '* * * * * *' })
    return {
      ...{ warnings, fired: (count: number) => until(() => runs >= count, 30_000) },
      [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
    }
  }

  describe('etcd with TLS', () => {
    it('elects, with a user, a password and a certificate, also when tokens end', { timeout: 60_000 }, async () => {
      await using started = await node(good)
      await started.fired(2 * tokenSec + 2)
      expect(started.warnings.filter((warning) => /token|permission|cannot be reached/.test(warning))).toEqual([])
    })

    it.each([
      ['a wrong password', good.replace('s3cret', 'wrong'), /invalid user ID or password/],
      ['another CA', good.replace(ca, otherCa), /etcd cannot be reached: .*certificate/],
      ['no certificate', good.replace(own, ''), /etcd cannot be reached: .*`cert` and `key`/],
      ['plain text at its TLS port', `etcd://carillon:s3cret@localhost:${tlsPort}`, /give etcds:\/\//],
      ['TLS at its plain port', good.replace(`:${tlsPort}`, `:${etcd.port}`), /does it speak TLS/],
    ])('with %s says so, and PostgreSQL elects', { timeout: 60_000 }, async (_, url, reason) => {
      await using started = await node(`${url}${url.includes('?') ? '&' : '?'}fallback=postgres`)
      await started.fired(2)
      await until(() => started.warnings.some((warning) => reason.test(warning)))
      expect(started.warnings.join()).not.toContain('s3cret')
    })

    it('a file that cannot be read is refused at start', async () => {
      await expect(node(good.replace(ca, '/none/ca.pem'))).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('ca=/none/ca.pem cannot be read (ENOENT)'),
      })
    })
  })
})
