/** From a URL to where Redis is: one server, a master that sentinels name, or a cluster. */
import { CarillonError } from '@carillon/contract'

interface Place {
  host: string
  port: number
}

interface Access {
  username?: string
  password?: string
  tls: boolean
}

export type RedisAddress =
  | { kind: 'SERVER'; url: string }
  | ({ kind: 'SENTINEL'; masterName: string; places: Place[] } & Access)
  | ({ kind: 'CLUSTER'; places: Place[] } & Access)

const several =
  /^redis(?<s>s?)\+(?<kind>sentinel|cluster):\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<places>[^/@]+)(?:\/(?<name>[^/]+))?\/?$/
const forms =
  'redis://host:port, rediss://host:port, redis+sentinel://host:port,host:port/master-name or redis+cluster://host:port,host:port'

/** Throws CONFIG_INVALID; the message has no password in it. */
export function parseRedisUrl(url: string): RedisAddress {
  if (/^rediss?:\/\/./.test(url) && URL.canParse(url)) return { kind: 'SERVER', url }
  const found = several.exec(url)?.groups
  if (!found) throw invalid('the URL of Redis cannot be understood')
  const places = found.places!.split(',').map(placeOf)
  const access = {
    ...(found.user ? { username: decodeURIComponent(found.user) } : {}),
    ...(found.password ? { password: decodeURIComponent(found.password) } : {}),
    tls: found.s === 's',
  }
  if (found.kind === 'cluster') {
    if (found.name !== undefined) throw invalid('a cluster has no name and no number of a database')
    return { kind: 'CLUSTER', places, ...access }
  }
  if (found.name === undefined) throw invalid('the URL of the sentinels does not say which master they watch')
  return { kind: 'SENTINEL', masterName: decodeURIComponent(found.name), places, ...access }
}

function placeOf(text: string): Place {
  const [, host, port] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535) throw invalid(`${text} is not host:port`)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

function invalid(message: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', { pointer: '/redisUrl', message, hint: `Use ${forms}` })
}
