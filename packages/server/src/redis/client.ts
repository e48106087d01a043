/**
 * Loads the package `redis`, an optional peer, and makes its clients. Exported types must not mention that package, so that our
 * declarations compile where it is missing.
 */
import { CarillonError } from '@carillon/contract'
import type { TlsFiles, TlsSecrets } from '../lib/tls-files.ts'

/** What we use of the package's three kinds of client, which have it in common. */
export interface Client {
  on(event: 'error', listener: (error: unknown) => void): unknown
  connect(): Promise<unknown>
  destroy(): unknown
  get(key: string): Promise<string | null>
  eval(script: string, what: { keys: string[]; arguments: string[] }): Promise<unknown>
  evalSha(sha: string, what: { keys: string[]; arguments: string[] }): Promise<unknown>
  publish(channel: string, message: string): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
}

/** Where it is: one server, a master that sentinels name, or a cluster. */
export type RedisAddress =
  | { kind: 'SERVER'; url: string; tls: TlsFiles | null }
  | ({ kind: 'SENTINEL'; masterName: string } & Places)
  | ({ kind: 'CLUSTER' } & Places)

interface Places {
  places: { host: string; port: number }[]
  username?: string
  password?: string
  tls: TlsFiles | null
}

type Library = typeof import('redis')

export interface ClientOptions {
  connectMs: number
  /** How long to wait before it connects again. */
  reconnectMs: () => number
  /** What the files of the address hold. */
  secrets: TlsSecrets
}

export async function loadRedis(): Promise<Library> {
  try {
    return await import('redis')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new CarillonError(
      'CONFIG_INVALID',
      {
        message: 'Redis is configured and the package redis is not installed',
        hint: 'Run npm install redis, or leave out the URL of Redis',
      },
      { cause },
    )
  }
}

/** Not connected. It reconnects by itself and refuses commands while it is not connected. */
export function createRedisClient(library: Library, address: RedisAddress, options: ClientOptions): Client {
  const { connectMs, reconnectMs, secrets } = options
  const socket = {
    ...{ connectTimeout: connectMs, reconnectStrategy: reconnectMs },
    ...(address.tls !== null && { tls: true as const, ...secrets }),
  }
  // The time limit of the package ends only what was not sent yet; connection.ts has its own.
  const shared = { commandOptions: { timeout: undefined } }
  const ofNode = { disableOfflineQueue: true, maintNotifications: 'disabled' as const }
  if (address.kind === 'SERVER')
    return library.createClient({ url: address.url, socket, ...ofNode, ...shared }) as unknown as Client
  const { username, password, places } = address
  const defaults = { username, password, socket, ...ofNode }
  if (address.kind === 'CLUSTER') {
    const rootNodes = places.map(({ host, port }) => ({ socket: { ...socket, host, port } }))
    return library.createCluster({ rootNodes, defaults, ...shared } as never) as unknown as Client
  }
  return library.createSentinel({
    ...{ name: address.masterName, sentinelRootNodes: places, nodeClientOptions: defaults, ...shared },
    ...{ sentinelClientOptions: { socket }, scanInterval: 1_000, passthroughClientErrorEvents: true },
  } as never) as unknown as Client
}

/** The first word of an error that Redis itself answered; null: it did not answer. */
export function replyCode(library: Library, error: unknown): string | null {
  if (!(error instanceof library.ErrorReply)) return null
  return error.message.split(' ', 1)[0]!
}
