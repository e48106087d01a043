/**
 * All servers of scale-out together, and the settings of a node that uses every one of them. The demo, chaos and tests take both from
 * here: a new setting is added in this file only.
 */
import type { EngineSettings } from '@carillon/server'
import { startEtcd } from './etcd.ts'
import { type KafkaOptions, startKafka } from './kafka.ts'
import type { RunningServer, ServerOptions } from './process.ts'
import { startRedis } from './redis.ts'

export const scaleOutNames = ['redis', 'etcd', 'kafka'] as const
export type ScaleOutName = (typeof scaleOutNames)[number]

export interface ScaleOutServers extends AsyncDisposable {
  readonly all: ReadonlyMap<ScaleOutName, RunningServer>
  readonly settings: EngineSettings
}

export interface ScaleOutOptions extends Pick<ServerOptions, 'ownGroup' | 'signal'> {
  kafka?: KafkaOptions
}

/** If one cannot be started, the others are ended. */
export async function startScaleOut({ kafka, ownGroup, signal }: ScaleOutOptions = {}): Promise<ScaleOutServers> {
  const failure = new AbortController()
  const options = { ownGroup, signal: AbortSignal.any([failure.signal, ...(signal ? [signal] : [])]) }
  const starts = {
    redis: () => startRedis(options),
    etcd: () => startEtcd(options),
    kafka: () => startKafka({ ...kafka, ...options }),
  }
  await using running = new AsyncDisposableStack()
  const all = new Map<ScaleOutName, RunningServer>()
  const start = async (name: ScaleOutName) => {
    const server = await starts[name]().catch((error) => failure.abort(error))
    if (server) all.set(name, running.use(server))
  }
  await Promise.all(scaleOutNames.map(start))
  // The first one: it has ended the others.
  failure.signal.throwIfAborted()
  const kept = running.move()
  return {
    all,
    settings: scaleOutSettings((name) => all.get(name)!.url),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** `urlOf`: where a node reaches the server. */
export function scaleOutSettings(urlOf: (name: ScaleOutName) => string): EngineSettings {
  return {
    leadership: `${urlOf('etcd')}?fallback=postgres`,
    hotWindow: urlOf('redis'),
    signals: urlOf('redis'),
    queue: urlOf('kafka'),
  }
}
