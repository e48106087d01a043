/**
 * Loads the package `@platformatic/kafka`, an optional peer, and says how its clients reach the cluster. Exported types must not
 * mention that package, so that our declarations compile where it is missing.
 */
import { CarillonError } from '@carillon/contract'
import { readTlsFiles } from '../lib/tls-files.ts'

/** Where the cluster is; config/kafka-place.ts reads it from a URL. */
export interface KafkaAddress {
  brokers: string[]
  auth: { mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'; username: string; password: string } | null
  tls: { ca?: string; cert?: string; key?: string } | null
  prefix: string
  replicas: number | null
}

/** What a producer, a consumer and an admin of the package are all given. */
export interface KafkaConnectionOptions {
  clientId: string
  bootstrapBrokers: string[]
  connectTimeout: number
  requestTimeout: number
  timeout: number
  retries: number
  sasl?: { mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'; username: string; password: string }
  tls?: { ca?: Buffer; cert?: Buffer; key?: Buffer }
}

export async function loadKafka(): Promise<typeof import('@platformatic/kafka')> {
  try {
    return await import('@platformatic/kafka')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new CarillonError(
      'CONFIG_INVALID',
      {
        message: 'Kafka is configured and the package @platformatic/kafka is not installed',
        hint: 'Run npm install @platformatic/kafka, or leave out the URL of Kafka',
      },
      { cause },
    )
  }
}

/** Reads the files of TLS. `timeoutMs`: for one request and its answer; nothing is tried again, that is the caller's part. */
export async function kafkaConnection(
  { brokers, auth, tls }: KafkaAddress,
  { clientId, timeoutMs }: { clientId: string; timeoutMs: number },
): Promise<KafkaConnectionOptions> {
  return {
    clientId,
    bootstrapBrokers: brokers,
    ...{ connectTimeout: timeoutMs, requestTimeout: timeoutMs, timeout: timeoutMs, retries: 0 },
    ...(auth !== null && { sasl: auth }),
    ...(tls !== null && { tls: await readTlsFiles(tls) }),
  }
}

/** What every client of the package has. */
interface WithConnections {
  connections: { on(event: 'connecting', listener: (what: { connection: Emitter }) => void): unknown }
}

interface Emitter {
  on(event: 'error', listener: () => void): unknown
}

/**
 * Answers the client. The package listens to the first error of a connection only: one that is given up while it authenticates
 * fails once more when the broker ends, and an error without a listener would end the process. Callers get every error from their calls.
 */
export function withLateErrors<Client extends WithConnections>(client: Client): Client {
  client.connections.on('connecting', ({ connection }) => connection.on('error', () => {}))
  return client
}

/** The package may wait for a connection, or to close one, for longer than a request may take: no caller waits for longer than this. */
export function within<T>(answer: Promise<T>, ms: number, what = 'an answer'): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`Kafka has not answered within ${ms} ms: ${what}`))
    // An answer that lies in the socket, because our own event loop was busy, is read before the time counts as over.
    const timer = setTimeout(() => setImmediate(late), ms)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

const closeMs = 1_000

/** Waits for a client to close, but not for long: its connections end by themselves. */
export async function closed(closing: Promise<unknown>): Promise<void> {
  await within(closing, closeMs).catch(() => {})
}
