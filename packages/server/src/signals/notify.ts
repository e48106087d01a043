/**
 * Signals over LISTEN/NOTIFY. Notifications are sent by a statement of their own, never inside a transaction that
 * enqueues (NOTIFY takes a global lock at commit), and what comes within a few milliseconds goes out together.
 * A node hears its own signals directly, not through the database; a single node sends none.
 */
import { Backoff } from '@carillon/contract/process'
import type pg from 'pg'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { coalesceMs, Listeners, merge, pack, type Sender } from './messages.ts'
import type { Signal, Signals } from './port.ts'

const channel = 'carillon'
/** PostgreSQL refuses payloads of 8,000 bytes and more. */
const payloadBytes = 7_000

export interface NotifySignalsOptions {
  database: Database
  nodeId: string
  alone?: () => boolean
  /** This node hears another way, too: what is sent both ways is ignored here. */
  hearsOtherwise?: () => boolean
  logger: Logger
}

export class NotifySignals implements Signals {
  readonly #database: Database
  readonly #nodeId: string
  readonly #alone: () => boolean
  readonly #hearsOtherwise: () => boolean
  readonly #logger: Logger
  readonly #listeners: Listeners
  readonly #backoff = new Backoff({ initialMs: 100, maxMs: 2_000 })
  #outbox: Signal[] = []
  /** What is sent another way, too. */
  #twice: Signal[] = []
  #timer: NodeJS.Timeout | null = null
  #reconnect: NodeJS.Timeout | null = null
  #sending: Promise<void> = Promise.resolve()
  #client: pg.PoolClient | null = null
  #stopped = true

  constructor(options: NotifySignalsOptions) {
    this.#database = options.database
    this.#nodeId = options.nodeId
    this.#alone = options.alone ?? (() => false)
    this.#hearsOtherwise = options.hearsOtherwise ?? (() => false)
    this.#logger = options.logger
    this.#listeners = new Listeners(options.logger)
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
    this.#listeners.deliver(signal)
    this.tellOthers(signal)
  }

  /** As `publish`, but this node's own listeners are not told. `twice`: it is sent another way, too. */
  tellOthers(signal: Signal, { twice = false } = {}): void {
    if (this.#stopped || signal.kind === 'ENDED' || this.#alone()) return
    if (twice) this.#twice.push(signal)
    else this.#outbox.push(signal)
    this.#timer ??= setTimeout(() => this.#send(), coalesceMs)
  }

  subscribe(listener: (signal: Signal) => void): () => void {
    return this.#listeners.add(listener)
  }

  #send(): void {
    this.#timer = null
    const [signals, twice] = [merge(this.#outbox), merge(this.#twice)]
    this.#outbox = []
    this.#twice = []
    const from = this.#nodeId
    const payloads = [...pack(signals, { from }, payloadBytes), ...pack(twice, { from, twice: true }, payloadBytes)]
    if (payloads.length === 0) return
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
      client.on('notification', ({ payload }) => this.#listeners.receive(payload, (sender) => this.#ignores(sender)))
      client.once('error', () => this.#lost(client))
      client.once('end', () => this.#lost(client))
      await client.query(`listen ${channel}`)
      this.#backoff.reset()
    } catch (error) {
      this.#logger.debug({ err: error }, 'cannot listen for signals; polling goes on')
      this.#lost(this.#client)
    }
  }

  #ignores({ from, twice }: Sender): boolean {
    return from === this.#nodeId || (twice === true && this.#hearsOtherwise())
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
}
