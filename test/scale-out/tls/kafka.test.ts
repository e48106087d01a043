/** Kafka with TLS, SASL and certificates of clients: it is reached with our URLs, and what is wrong is said within the time limit. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { kafkaPlace } from '../../../packages/server/src/config/kafka-place.ts'
import { kafkaConnection, loadKafka } from '../../../packages/server/src/kafka/client.ts'
import { startKafka } from '../../../scripts/servers/kafka.ts'
import { freePort, type RunningServer } from '../../../scripts/servers/process.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import { describeWith } from '../../support/servers.ts'

interface Secured {
  kafka: RunningServer
  /** SASL over TLS. */
  saslPort: number
  /** TLS with certificates of clients. */
  certPort: number
  certificates: Certificates
}

const timeoutMs = 5_000

async function start(): Promise<Secured> {
  const certificates = makeCertificates()
  const { ca, server, folder } = certificates
  const keystore = join(folder, 'keystore.pem')
  writeFileSync(keystore, readFileSync(server.key, 'utf8') + readFileSync(server.cert, 'utf8'))
  const [saslPort, certPort] = [await freePort(), await freePort()]
  const login = 'org.apache.kafka.common.security'
  const kafka = await startKafka({
    listeners: { SASL: { protocol: 'SASL_SSL', port: saslPort }, CERT: { protocol: 'SSL', port: certPort } },
    format: ['--add-scram', 'SCRAM-SHA-512=[name=carillon,password=s3cret]'],
    properties: {
      ...{ 'ssl.keystore.type': 'PEM', 'ssl.keystore.location': keystore },
      ...{ 'ssl.truststore.type': 'PEM', 'ssl.truststore.location': ca },
      'listener.name.cert.ssl.client.auth': 'required',
      'sasl.enabled.mechanisms': 'SCRAM-SHA-512,PLAIN',
      'listener.name.sasl.scram-sha-512.sasl.jaas.config': `${login}.scram.ScramLoginModule required;`,
      'listener.name.sasl.plain.sasl.jaas.config': `${login}.plain.PlainLoginModule required user_carillon="s3cret";`,
    },
  })
  return { kafka, saslPort, certPort, certificates }
}

await describeWith('Kafka', start, ({ kafka, saslPort, certPort, certificates }) => {
  const { ca, otherCa, client } = certificates
  const scram = `kafkas://carillon:s3cret@127.0.0.1:${saslPort}?ca=${ca}`
  const cert = `kafkas://127.0.0.1:${certPort}?ca=${ca}`
  afterAll(async () => {
    await kafka.stop()
    certificates.remove()
  })

  const connection = (url: string) => kafkaConnection(kafkaPlace(url, 'queue'), { clientId: 'test', timeoutMs })

  describe('Kafka with TLS', () => {
    it.each([
      ['SCRAM-SHA-512', scram],
      ['PLAIN', `${scram}&mechanism=PLAIN`],
      ['a certificate', `${cert}&cert=${client.cert}&key=${client.key}`],
    ])('is reached with %s', async (name, url) => {
      const { Admin, Producer } = await loadKafka()
      const options = await connection(url)
      const topic = name.replace(/\W/g, '-')
      const admin = new Admin(options)
      await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 })
      expect(await admin.listTopics()).toContain(topic)
      await admin.close()
      const producer = new Producer(options)
      const sent = await producer.send({ messages: [{ topic, value: Buffer.from('hello') }] })
      expect(sent.offsets).toHaveLength(1)
      await producer.close()
    })

    it.each([
      ['a wrong password', scram.replace('s3cret', 'wrong'), /SASL authentication failed/],
      [
        'a wrong password of PLAIN',
        `${scram.replace('s3cret', 'wrong')}&mechanism=PLAIN`,
        /SASL authentication failed/,
      ],
      ['a mechanism it has not', `${scram}&mechanism=SCRAM-SHA-256`, /mechanism/],
      ['another CA', scram.replace(ca, otherCa), /certificate/],
      ['no CA', `kafkas://carillon:s3cret@127.0.0.1:${saslPort}`, /certificate/],
      ['no certificate', cert, /Connection closed|alert/],
      ['plain text at its TLS port', `kafka://127.0.0.1:${saslPort}`, /requires TLS/],
      ['TLS at its plain port', scram.replace(`:${saslPort}`, `:${kafka.port}`), /supports TLS/],
    ])('with %s refuses, and the error says why', async (_, url, reason) => {
      const { Admin } = await loadKafka()
      const admin = new Admin(await connection(url))
      const began = performance.now()
      const error = await admin.listTopics().then(
        () => new Error('it answered'),
        (refused: Error) => refused,
      )
      expect(performance.now() - began).toBeLessThan(2 * timeoutMs)
      expect(wordsOf(error).join('; ')).toMatch(reason)
      expect(wordsOf(error).join('; ')).not.toContain('s3cret')
      await admin.close().catch(() => {})
    })

    it('a file that cannot be read is refused at start', async () => {
      await expect(connection(scram.replace(ca, '/none/ca.pem'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    })
  })
})

/** The messages of an error, its causes and its parts. */
function wordsOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const parts = error instanceof AggregateError ? error.errors : []
  return [error.message, ...[...parts, error.cause].flatMap(wordsOf)]
}
