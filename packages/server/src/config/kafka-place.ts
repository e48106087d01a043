import { CarillonError } from '@carillon/contract'
import { parseServerUrl } from './server-url.ts'

/** Where a Kafka cluster is, from a setting such as `queue`. */
export interface KafkaPlace {
  /** `host:port` each, of some brokers; they name the others. */
  brokers: string[]
  auth: { mechanism: KafkaMechanism; username: string; password: string } | null
  /** Files of TLS: without `ca`, the certificates that Node trusts. Null: plain text. */
  tls: { ca?: string; cert?: string; key?: string } | null
  /** What the names of all topics and groups begin with. */
  prefix: string
  /** Of topics that Carillon creates; null: what the cluster gives topics by default. */
  replicas: number | null
}

export type KafkaMechanism = (typeof mechanisms)[number]

export const defaultPrefix = 'carillon'
const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
const example =
  'kafka://host:9092,host:9092/prefix, or kafkas://user:password@host:9092?mechanism=SCRAM-SHA-512&ca=ca.pem with TLS'

/** Throws CONFIG_INVALID; the message has no password in it. */
export function kafkaPlace(url: string, setting: string): KafkaPlace {
  const { scheme, hosts, user, password, path, parameters } = parseServerUrl(url, {
    setting,
    schemes: ['kafka', 'kafkas'],
    defaultPort: 9_092,
    parameters: ['mechanism', 'ca', 'cert', 'key', 'replicas'],
    example,
  })
  const invalid = (message: string) =>
    new CarillonError('CONFIG_INVALID', {
      pointer: `/${setting.replaceAll('.', '/')}`,
      message: `${setting} ${message}`,
      hint: example,
    })
  const { ca, cert, key, replicas } = parameters
  const secure = scheme === 'kafkas'
  if (ca !== undefined && !secure) throw invalid('has `ca`, which goes with kafkas://')
  if ((cert === undefined) !== (key === undefined) || (cert !== undefined && !secure)) {
    throw invalid('needs `cert` and `key` together, with kafkas://')
  }
  if ((user === null) !== (password === null)) throw invalid('needs a password with the user')
  const mechanism = mechanisms.find((each) => each === (parameters.mechanism ?? 'SCRAM-SHA-512'))
  if (mechanism === undefined) throw invalid(`has a mechanism that is none of ${mechanisms.join(', ')}`)
  if (parameters.mechanism !== undefined && user === null) throw invalid('has a mechanism, but no user and password')
  const prefix = path.replace(/\/+$/, '') || defaultPrefix
  if (!/^[a-zA-Z0-9._-]{1,100}$/.test(prefix)) {
    throw invalid('has a path that cannot begin the name of a topic: letters, digits, dot, dash and underscore can')
  }
  if (replicas !== undefined && !/^[1-9]\d?$/.test(replicas)) throw invalid('has `replicas`, which is no number')
  return {
    brokers: hosts.map(({ host, port }) => `${host}:${port}`),
    auth: user === null ? null : { mechanism, username: user, password: password! },
    tls: secure ? { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) } : null,
    prefix,
    replicas: replicas === undefined ? null : Number(replicas),
  }
}
