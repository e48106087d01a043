/**
 * Signals over Redis, beside NOTIFY.
 *
 * What is sent where. To Redis, always, unless it is away. To NOTIFY, too, while some live node is not known to hear Redis: it has no
 * Redis, or cannot reach it. Which nodes hear is looked at once a second: each that does renews its mark in Redis, and the marks
 * are compared with the nodes that are alive. So nodes with and without Redis hear each other while an installation is switched over.
 * Every node LISTENs at all times; of what is sent both ways a node that hears Redis ignores the notification.
 *
 * A CANCEL is also kept under a key of its worker for half a minute. A node reads the keys of the workers it serves when
 * Redis comes back, and once a second, and delivers what it has not heard.
 */
import { monotonicMs } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Logger } from '../observability/logger.ts'
import { defineScript, type RedisConnection } from '../redis/connection.ts'
import { coalesceMs, Listeners, merge, pack } from './messages.ts'
import type { NotifySignals } from './notify.ts'
import type { Signal, Signals } from './port.ts'

const lookEveryMs = 1_000
/** A node that has not renewed its mark for this long does not hear. */
const markMs = 3_000
const cancelKeptMs = 30_000
const messageBytes = 64_000
const keysAtOnce = 500

type Cancel = Extract<Signal, { kind: 'CANCEL' }>

/** ARGV: this node, how long a mark counts. Answers the nodes that hear. */
const markScript = defineScript(`
  local t = redis.call('time')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  redis.call('zadd', KEYS[1], now, ARGV[1])
  redis.call('zremrangebyscore', KEYS[1], '-inf', now - ARGV[2])
  redis.call('pexpire', KEYS[1], ARGV[2])
  return redis.call('zrange', KEYS[1], 0, -1)`)

const unmarkScript = defineScript(`return redis.call('zrem', KEYS[1], ARGV[1])`)

/** One key and one text for each cancellation; the last of ARGV is how long it is kept. */
const keepScript = defineScript(`
  for i, key in ipairs(KEYS) do
    redis.call('rpush', key, ARGV[i])
    redis.call('ltrim', key, -1000, -1)
    redis.call('pexpire', key, ARGV[#ARGV])
  end`)

const readScript = defineScript(`
  local found = {}
  for _, key in ipairs(KEYS) do
    for _, text in ipairs(redis.call('lrange', key, 0, -1)) do found[#found + 1] = text end
  end
  return found`)

export interface RedisSignalsOptions {
  redis: RedisConnection
  /** This node's, which knows by `hearsOtherwise` whether Redis is there; started and stopped with this. */
  notify: NotifySignals
  nodeId: string
  alone?: () => boolean
  /** The nodes that are alive, with or without Redis. */
  liveNodes: () => Promise<string[]>
  /** The workers that this node serves. */
  workers?: () => string[]
  logger: Logger
  /** Called when signals went by NOTIFY because Redis is away. */
  onFallback?: () => void
}

export class RedisSignals implements Signals {
  readonly #options: RedisSignalsOptions
  readonly #listeners: Listeners
  readonly #loop: Loop
  /** Cancellations that were delivered, and when. */
  readonly #cancelled = new Map<string, number>()
  #outbox: Signal[] = []
  #timer: NodeJS.Timeout | null = null
  #sending: Promise<void> = Promise.resolve()
  #allHear = false
  #stopped = true
  #unsubscribe: (() => void)[] = []

  constructor(options: RedisSignalsOptions) {
    this.#options = options
    this.#listeners = new Listeners(options.logger)
    this.#listeners.add((signal) => {
      if (signal.kind === 'CANCEL') this.#cancelled.set(idOf(signal), monotonicMs())
    })
    const runOnce = () => this.#look()
    this.#loop = new Loop({ name: 'signals', everyMs: lookEveryMs, logger: options.logger, runOnce })
  }

  async start(): Promise<void> {
    const { redis, notify, nodeId } = this.#options
    this.#stopped = false
    this.#unsubscribe = [
      notify.subscribe((signal) => this.#listeners.deliver(signal)),
      redis.onAway(() => {
        this.#allHear = false
      }),
      redis.onBack(() => this.#loop.wake()),
    ]
    redis.subscribe(redis.channel('signals'), (message) => {
      if (!this.#stopped) this.#listeners.receive(message, ({ from }) => from === nodeId)
    })
    await notify.start()
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    await this.#loop.stop()
    if (this.#timer) clearTimeout(this.#timer)
    this.#flush()
    await this.#sending
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    const { redis, nodeId, notify } = this.#options
    await redis.run(unmarkScript, [redis.key('signals', 'nodes')], [nodeId]).catch(() => {})
    await notify.stop()
  }

  publish(signal: Signal): void {
    this.#listeners.deliver(signal)
    if (this.#stopped || signal.kind === 'ENDED' || this.#options.alone?.()) return
    this.#outbox.push(signal)
    this.#timer ??= setTimeout(() => this.#flush(), coalesceMs)
  }

  subscribe(listener: (signal: Signal) => void): () => void {
    return this.#listeners.add(listener)
  }

  #flush(): void {
    this.#timer = null
    const signals = merge(this.#outbox)
    this.#outbox = []
    if (signals.length > 0) this.#sending = this.#sending.then(() => this.#send(signals))
  }

  async #send(signals: Signal[]): Promise<void> {
    const { redis, notify, nodeId, logger, onFallback } = this.#options
    let twice = false
    try {
      const messages = pack(signals, { from: nodeId }, messageBytes)
      const sent = messages.map((message) => redis.publish(redis.channel('signals'), message))
      await Promise.all([...sent, this.#keep(signals.filter((signal) => signal.kind === 'CANCEL'))])
      if (this.#allHear) return
      twice = true
    } catch (error) {
      logger.debug({ err: error }, 'signals go by NOTIFY')
      onFallback?.()
    }
    for (const signal of signals) notify.tellOthers(signal, { twice })
  }

  async #keep(cancels: Cancel[]): Promise<void> {
    for (let at = 0; at < cancels.length; at += keysAtOnce) {
      const part = cancels.slice(at, at + keysAtOnce)
      const texts = part.map((cancel) => JSON.stringify(cancel))
      await this.#options.redis.run(
        keepScript,
        part.map(({ workerId }) => this.#keyOf(workerId)),
        [...texts, cancelKeptMs],
      )
    }
  }

  /** Renews this node's mark, looks who hears, and reads what was cancelled. */
  async #look(): Promise<void> {
    const { redis, nodeId, liveNodes, workers = () => [] } = this.#options
    if (redis.isAway()) return
    const marked = (await redis.run(markScript, [redis.key('signals', 'nodes')], [nodeId, markMs])) as string[]
    const hearing = new Set(marked)
    const live = await liveNodes()
    this.#allHear = !redis.isAway() && live.every((id) => hearing.has(id))
    await this.#readCancels(workers())
  }

  async #readCancels(workerIds: string[]): Promise<void> {
    const { redis } = this.#options
    const now = monotonicMs()
    for (const [id, at] of this.#cancelled) if (now - at > 2 * cancelKeptMs) this.#cancelled.delete(id)
    for (let at = 0; at < workerIds.length; at += keysAtOnce) {
      const keys = workerIds.slice(at, at + keysAtOnce).map((id) => this.#keyOf(id))
      for (const text of (await redis.run(readScript, keys)) as string[]) {
        const cancel = JSON.parse(text) as Cancel
        if (!this.#cancelled.has(idOf(cancel))) this.#listeners.deliver(cancel)
      }
    }
  }

  #keyOf(workerId: string): string {
    return this.#options.redis.key('signals', `cancel:${workerId}`)
  }
}

function idOf({ executionId, fence }: Cancel): string {
  return `${executionId} ${fence}`
}
