import { isIP } from 'node:net'
import { CarillonError } from '@carillon/contract'
import { parseServerUrl } from './server-url.ts'

/** Where etcd is, from the setting `leadership`. */
export interface EtcdPlace {
  /** `http://host:port` each. */
  hosts: string[]
  auth: { username: string; password: string } | null
  /** Files of TLS; null: plain text. */
  tls: { ca: string; cert?: string; key?: string } | null
  /** What all keys begin with, besides the installation's own part. */
  path: string
  /** While etcd is away, leaders are elected in PostgreSQL. */
  fallback: boolean
}

const example = 'etcd://user:password@host:2379,host:2379/path?fallback=postgres, or etcds://host:2379?ca=ca.pem'

/** Throws CONFIG_INVALID. */
export function etcdPlace(url: string): EtcdPlace {
  const { scheme, hosts, user, password, path, parameters } = parseServerUrl(url, {
    setting: 'leadership',
    schemes: ['etcd', 'etcds'],
    defaultPort: 2_379,
    parameters: ['fallback', 'ca', 'cert', 'key'],
    example,
  })
  const { fallback, ca, cert, key } = parameters
  const secure = scheme === 'etcds'
  if (fallback !== undefined && fallback !== 'postgres') throw invalid('can fall back to `postgres` only')
  if (secure !== (ca !== undefined))
    throw invalid('needs `ca` with etcds://, and only there: a PEM file that signs its certificate')
  if ((cert === undefined) !== (key === undefined) || (cert !== undefined && !secure)) {
    throw invalid('needs `cert` and `key` together, with etcds://')
  }
  // The client of etcd takes the host for the name that the certificate is checked by, and TLS has no names that are addresses.
  if (secure && hosts.some(({ host }) => isIP(host.replace(/^\[|\]$/g, '')) > 0))
    throw invalid('needs names of hosts with etcds://, not IP addresses: the certificate is checked by name')
  if ((user === null) !== (password === null)) throw invalid('needs a password with the user')
  return {
    hosts: hosts.map(({ host, port }) => `${secure ? 'https' : 'http'}://${host}:${port}`),
    auth: user === null ? null : { username: user, password: password! },
    tls: secure ? { ca: ca!, ...(cert !== undefined && { cert, key }) } : null,
    path: path === '' ? 'carillon' : path.replace(/\/+$/, ''),
    fallback: fallback === 'postgres',
  }
}

function invalid(message: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', {
    pointer: '/leadership',
    message: `leadership ${message}`,
    hint: example,
  })
}
