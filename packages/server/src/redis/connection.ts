/**
 * A node's connection to Redis, for the seams that have a version there.
 *
 * Model. Redis is there or away. It is away from the moment a command fails for want of a connection, or is not answered
 * within `commandMs`, until a probe, which writes, is answered. While it is away, commands are refused at once and nothing is
 * kept to be sent later: a caller asks PostgreSQL instead, within half a second of the first failure and at once after it.
 *
 * What may fail. Every command may reject. One that was not answered in time may still be carried out later, after a server
 * was frozen for instance: what a seam writes must do no harm when it comes late.
 *
 * What must stay true: no command takes longer than `commandMs`; `start` does not wait for a Redis that is away; a connection on
 * which probes stay unanswered is replaced.
 *
 * Keys. `carillon:{installation/part}:name`. Braces are Redis Cluster's hash tag: all keys of one part lie in one slot, so a script
 * may use several of them. Every shard is a part of its own.
 */
import { createHash } from 'node:crypto'
import { Backoff } from '@carillon/contract/process'
import type { Service } from '../lib/service.ts'
import { readTlsFiles, type TlsSecrets } from '../lib/tls-files.ts'
import type { Logger } from '../observability/logger.ts'
import { type Client, createRedisClient, loadRedis, type RedisAddress, replyCode } from './client.ts'

const commandMs = 500
const connectMs = 2_000
/** Probes unanswered for this long: the connection is replaced. */
const replaceAfterMs = 5_000
/** The answers of a server that works: the command was wrong, not the server. */
const ofCommand = new Set(['ERR', 'WRONGTYPE', 'NOSCRIPT'])

/** A Lua script, which Redis carries out as one step. All of its keys are of one part. */
export interface Script {
  readonly text: string
  readonly sha: string
}

export function defineScript(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

const probe = defineScript(`return redis.call('set', KEYS[1], '1', 'px', '60000')`)

export interface RedisConnectionOptions {
  address: RedisAddress
  /** Keeps installations that share a Redis apart. */
  installationId: () => Promise<string>
  logger: Logger
}

/** Redis is away: nothing was sent, or no answer came. */
export class RedisAwayError extends Error {
  override readonly name = 'RedisAwayError'
}

export class RedisConnection implements Service {
  readonly #options: RedisConnectionOptions
  readonly #backoff = new Backoff({ initialMs: 50, maxMs: 1_000 })
  readonly #subscriptions = new Map<string, (message: string) => void>()
  readonly #onBack = new Set<() => void>()
  readonly #onAway = new Set<() => void>()
  #library: Awaited<ReturnType<typeof loadRedis>> | null = null
  #installationId = ''
  #secrets: TlsSecrets = {}
  #client: Client | null = null
  #openedAt = 0
  /** Scripts that were sent since Redis came back. */
  readonly #known = new Set<string>()
  #away = true
  /** Why it is away, each reason once. */
  readonly #told = new Set<string>()
  #probing: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #stopped = true

  constructor(options: RedisConnectionOptions) {
    this.#options = options
  }

  /** Resolves when Redis has answered, or has not in time: then it is looked for in the background. */
  async start(): Promise<void> {
    this.#library = await loadRedis()
    this.#secrets = await readTlsFiles(this.#options.address.tls ?? {})
    this.#installationId = await this.#options.installationId()
    this.#stopped = false
    await Promise.race([this.#probe(), delay(commandMs)])
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#away = true
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#drop()
  }

  isAway(): boolean {
    return this.#away
  }

  /** Called each time Redis is there again, and the first time. What it held may be lost, or older than it was. */
  onBack(listener: () => void): () => void {
    this.#onBack.add(listener)
    return () => this.#onBack.delete(listener)
  }

  onAway(listener: () => void): () => void {
    this.#onAway.add(listener)
    return () => this.#onAway.delete(listener)
  }

  key(part: string, name: string): string {
    return `carillon:{${this.#installationId}/${part}}:${name}`
  }

  channel(name: string): string {
    return `carillon:${this.#installationId}:${name}`
  }

  get(key: string): Promise<string | null> {
    return this.#send((client) => client.get(key))
  }

  run(script: Script, keys: string[], args: readonly (string | number)[] = []): Promise<unknown> {
    return this.#send((client) => this.#evaluate(client, script, keys, args))
  }

  publish(channel: string, message: string): Promise<unknown> {
    return this.#send((client) => client.publish(channel, message))
  }

  /** For as long as the connection lives, over all its interruptions. One listener for each channel. */
  subscribe(channel: string, listener: (message: string) => void): void {
    this.#subscriptions.set(channel, listener)
    if (!this.#away) this.#client?.subscribe(channel, listener).catch((error) => this.#failed(error))
  }

  async #send<T>(command: (client: Client) => Promise<T>): Promise<T> {
    const client = this.#client
    if (this.#away || client === null) throw new RedisAwayError('Redis is away')
    try {
      return await within(command(client), commandMs)
    } catch (error) {
      // A client that was replaced says nothing about the new one.
      if (client === this.#client) this.#failed(error)
      throw error
    }
  }

  async #evaluate(
    client: Client,
    { text, sha }: Script,
    keys: string[],
    values: readonly (string | number)[],
  ): Promise<unknown> {
    const what = { keys, arguments: values.map(String) }
    // The first time with its text: sent again after a NOSCRIPT, it would come after what was sent meanwhile.
    if (!this.#known.has(sha)) {
      this.#known.add(sha)
      return client.eval(text, what)
    }
    try {
      return await client.evalSha(sha, what)
    } catch (error) {
      if (replyCode(this.#library!, error) !== 'NOSCRIPT') throw error
      return client.eval(text, what)
    }
  }

  #failed(error: unknown): void {
    const code = replyCode(this.#library!, error)
    if (this.#stopped || (code !== null && ofCommand.has(code))) return
    if (!this.#away) {
      this.#away = true
      this.#known.clear()
      this.#openedAt = performance.now()
      this.#tell(error)
      for (const listener of [...this.#onAway]) listener()
    }
    this.#probeLater()
  }

  /** A wrong password, say, may show only after it could not be reached for a while. */
  #tell(error: unknown): void {
    if (this.#stopped) return
    const reason = error instanceof Error ? error.message : String(error)
    if (this.#told.has(reason)) return
    this.#told.add(reason)
    this.#options.logger.warn({ err: error }, 'Redis is away; PostgreSQL does its work')
  }

  #probeLater(): void {
    if (this.#stopped || this.#timer || this.#probing) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#probe()
    }, this.#backoff.nextMs())
  }

  #probe(): Promise<void> {
    this.#probing ??= this.#tryProbe().finally(() => {
      this.#probing = null
      if (this.#away) this.#probeLater()
    })
    return this.#probing
  }

  async #tryProbe(): Promise<void> {
    if (this.#client !== null && performance.now() - this.#openedAt > replaceAfterMs) this.#drop()
    if (this.#client === null) await this.#open()
    const client = this.#client
    if (client === null || this.#stopped) return
    try {
      await within(this.#evaluate(client, probe, [this.key('connection', 'probe')], []), commandMs)
      // The client restores what Redis has confirmed; what was under way when the connection broke, it does not.
      for (const [channel, listener] of this.#subscriptions)
        await within(client.subscribe(channel, listener), commandMs)
    } catch (error) {
      // A client that is not connected has said why by an event.
      if (error instanceof RedisAwayError || replyCode(this.#library!, error) !== null) this.#tell(error)
      return
    }
    if (this.#stopped || client !== this.#client) return
    this.#away = false
    this.#told.clear()
    this.#backoff.reset()
    this.#options.logger.info({}, 'Redis is there')
    for (const listener of [...this.#onBack]) listener()
  }

  async #open(): Promise<void> {
    const options = { connectMs, reconnectMs: () => 100 + Math.random() * 400, secrets: this.#secrets }
    const client = createRedisClient(this.#library!, this.#options.address, options)
    client.on('error', (error) => {
      if (client !== this.#client) return
      if (this.#away) this.#tell(error)
      this.#failed(error)
    })
    this.#client = client
    this.#openedAt = performance.now()
    const failed = () => {
      if (client === this.#client) this.#drop()
    }
    // A single server is tried again and again by the client itself; sentinels and clusters give up.
    await Promise.race([client.connect().catch(failed), delay(connectMs)])
  }

  #drop(): void {
    const client = this.#client
    this.#client = null
    // It may not have been open.
    void (async () => client?.destroy())().catch(() => {})
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })
}

/** An answer that lies in the socket, because our own event loop was busy, is read before the time counts as over. */
function within<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new RedisAwayError(`Redis has not answered within ${ms} ms`))
    const timer = setTimeout(() => setImmediate(late), ms)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
