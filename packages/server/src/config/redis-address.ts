import { CarillonError } from '@carillon/contract'
import type { TlsFiles } from '../lib/tls-files.ts'
import { parseServerUrl } from './server-url.ts'

/** Where Redis is: one server, a master that sentinels name, or a cluster. Without `tls` in plain text. */
export type RedisAddress =
  | { kind: 'SERVER'; url: string; tls: TlsFiles | null }
  | ({ kind: 'SENTINEL'; masterName: string } & RedisPlaces)
  | ({ kind: 'CLUSTER' } & RedisPlaces)

export interface RedisPlaces {
  places: { host: string; port: number }[]
  username?: string
  password?: string
  tls: TlsFiles | null
}

const example =
  'redis://user:password@host:6379/0, rediss://host:6379?ca=ca.pem with TLS, redis+sentinel://host:26379,host:26379/master or redis+cluster://host:6379,host:6379'

/** Throws CONFIG_INVALID; the message has no password in it. */
export function redisAddress(url: string, setting: string): RedisAddress {
  const { scheme, hosts, user, password, path, parameters } = parseServerUrl(url, {
    setting,
    schemes: ['redis', 'rediss', 'redis+sentinel', 'rediss+sentinel', 'redis+cluster', 'rediss+cluster'],
    defaultPort: defaultPortOf(url),
    parameters: ['ca', 'cert', 'key'],
    example,
  })
  const invalid = (message: string) =>
    new CarillonError('CONFIG_INVALID', { pointer: `/${setting}`, message: `${setting} ${message}`, hint: example })
  const [protocol, kind] = scheme.split('+')
  const { ca, cert, key } = parameters
  const secure = protocol === 'rediss'
  if (ca !== undefined && !secure) throw invalid('has `ca`, which goes with rediss://')
  if ((cert === undefined) !== (key === undefined) || (cert !== undefined && !secure)) {
    throw invalid('needs `cert` and `key` together, with rediss://')
  }
  const tls = secure ? { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) } : null
  if (kind === undefined) {
    if (hosts.length > 1 || !URL.canParse(url))
      throw invalid('names several hosts, but neither sentinels nor a cluster')
    return { kind: 'SERVER', url: url.replace(/\?.*$/, ''), tls }
  }
  const places: RedisPlaces = {
    places: hosts.map(({ host, port }) => ({ host: host.replace(/^\[|\]$/g, ''), port })),
    ...(user ? { username: user } : {}),
    ...(password ? { password } : {}),
    tls,
  }
  if (kind === 'cluster') {
    if (path !== '') throw invalid('has a path, but a cluster has no name and no number of a database')
    return { kind: 'CLUSTER', ...places }
  }
  if (path === '') throw invalid('does not say which master the sentinels watch')
  return { kind: 'SENTINEL', masterName: path, ...places }
}

function defaultPortOf(url: string): number {
  return url.includes('+sentinel://') ? 26_379 : 6_379
}
