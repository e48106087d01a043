/**
 * Signals over LISTEN/NOTIFY. Notifications are sent by a statement of their own, never inside a transaction that
 * enqueues (NOTIFY takes a global lock at commit), and what comes within a few milliseconds goes out together.
 * A node hears its own signals directly, not through the database; a single node sends none.
 */
import { Backoff } from '@carillon/contract/process'
import type pg from 'pg'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import type { Signal, Signals } from './port.ts'

const channel = 'carillon'
const coalesceMs = 2
/** PostgreSQL refuses payloads of 8,000 bytes and more. */
const payloadBytes = 7_000

export class NotifySignals implements Signals {
  readonly #database: Database
  readonly #nodeId: string
  readonly #alone: () => boolean
  readonly #logger: Logger
  readonly #listeners = new Set<(signal: Signal) => void>()
  readonly #backoff = new Backoff({ initialMs: 100, maxMs: 2_000 })
  #outbox: Signal[] = []
  #timer: NodeJS.Timeout | null = null
  #reconnect: NodeJS.Timeout | null = null
  #sending: Promise<void> = Promise.resolve()
  #client: pg.PoolClient | null = null
  #stopped = true

  constructor(options: { database: Database; nodeId: string; alone?: () => boolean; logger: Logger }) {
    this.#database = options.database
    this.#nodeId = options.nodeId
    this.#alone = options.alone ?? (() => false)
    this.#logger = options.logger
  }

  async start(): Promise<void> {
    this.#stopped = false
    await this.#listen()
  }

  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    if (this.#reconnect) clearTimeout(this.#reconnect)
    if (this.#timer) clearTimeout(this.#timer)
    this.#send()
    await this.#sending
    this.#client?.release(true)
    this.#client = null
  }

  publish(signal: Signal): void {
    this.#deliver(signal)
    if (this.#stopped || signal.kind === 'ENDED' || this.#alone()) return
    this.#outbox.push(signal)
    this.#timer ??= setTimeout(() => this.#send(), coalesceMs)
  }

  subscribe(listener: (signal: Signal) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** An error in one listener reaches neither the others nor the publisher. */
  #deliver(signal: Signal): void {
    for (const listener of this.#listeners) {
      try {
        listener(signal)
      } catch (error) {
        this.#logger.error({ err: error, kind: signal.kind }, 'a signal was not understood')
      }
    }
  }

  #send(): void {
    this.#timer = null
    const signals = merge(this.#outbox)
    this.#outbox = []
    if (signals.length === 0) return
    const payloads = pack(signals, this.#nodeId)
    this.#sending = this.#sending.then(() =>
      this.#database.query('notify', 'select pg_notify($1, p) from unnest($2::text[]) p', [channel, payloads]).then(
        () => {},
        (error) => this.#logger.debug({ err: error }, 'a signal was not sent'),
      ),
    )
  }

  async #listen(): Promise<void> {
    try {
      const client = await this.#database.connect()
      if (this.#stopped) return client.release(true)
      this.#client = client
      client.on('notification', (message) => this.#receive(message.payload))
      client.once('error', () => this.#lost(client))
      client.once('end', () => this.#lost(client))
      await client.query(`listen ${channel}`)
      this.#backoff.reset()
    } catch (error) {
      this.#logger.debug({ err: error }, 'cannot listen for signals; polling goes on')
      this.#lost(this.#client)
    }
  }

  #lost(client: pg.PoolClient | null): void {
    if (client !== null && client === this.#client) {
      this.#client = null
      client.release(true)
    }
    if (this.#stopped || this.#client || this.#reconnect) return
    this.#reconnect = setTimeout(() => {
      this.#reconnect = null
      void this.#listen()
    }, this.#backoff.nextMs())
  }

  #receive(payload: string | undefined): void {
    try {
      const { from, signals } = JSON.parse(payload ?? '') as { from: string; signals: Signal[] }
      if (from === this.#nodeId) return
      for (const signal of signals) this.#deliver(signal)
    } catch (error) {
      this.#logger.warn({ err: error }, 'a signal could not be read')
    }
  }
}

/** Several of one kind say no more than the strongest of them. */
function merge(signals: Signal[]): Signal[] {
  const merged = new Map<string, Signal>()
  const others: Signal[] = []
  for (const signal of signals) {
    if (signal.kind === 'READY') {
      const key = `${signal.pool}\u0000${signal.lane}`
      const known = merged.get(key)
      if (known?.kind !== 'READY' || signal.tag < known.tag) merged.set(key, signal)
    } else if (signal.kind === 'DUE') {
      const known = merged.get('DUE')
      if (known?.kind !== 'DUE' || signal.at < known.at) merged.set('DUE', signal)
    } else if (signal.kind === 'SHARDS') {
      merged.set('SHARDS', signal)
    } else {
      others.push(signal)
    }
  }
  return [...merged.values(), ...others]
}

function pack(signals: Signal[], from: string): string[] {
  const payloads: string[] = []
  let batch: Signal[] = []
  let size = 0
  for (const signal of signals) {
    const bytes = Buffer.byteLength(JSON.stringify(signal)) + 1
    if (size + bytes > payloadBytes && batch.length > 0) {
      payloads.push(JSON.stringify({ from, signals: batch }))
      batch = []
      size = 0
    }
    batch.push(signal)
    size += bytes
  }
  if (batch.length > 0) payloads.push(JSON.stringify({ from, signals: batch }))
  return payloads
}
