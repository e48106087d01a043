/** Library mode: a whole node inside a Node program, used through typed calls. */
import { CarillonError } from '@carillon/contract'
import {
  type HandlerContext,
  type HandlerDefinition,
  type ImplementOptions,
  implementHandler,
  type RegisteredHandler,
  Worker,
} from '@carillon/sdk'
import type { EngineSettings } from '../config/engine-config.ts'
import type { EmbeddedPostgres } from '../embedded/index.ts'
import type { Engine } from '../main.ts'
import type { Logger } from '../observability/logger.ts'
import { directTransport } from '../workers/direct-transport.ts'
import { CarillonCalls } from './calls.ts'
import { completeIn } from './complete-in.ts'

export class Carillon extends CarillonCalls {
  readonly #logger: Logger
  readonly #postgres: EmbeddedPostgres | null
  readonly #settings: EngineSettings
  readonly #handlers: RegisteredHandler[] = []
  #worker: Worker | null = null
  #stopped: Promise<void> | null = null

  /** Use `createCarillon`. */
  constructor(
    engine: Engine,
    parts: { logger: Logger; tenant: string | undefined; postgres: EmbeddedPostgres | null; settings: EngineSettings },
  ) {
    super(engine, parts.tenant)
    this.#logger = parts.logger
    this.#postgres = parts.postgres
    this.#settings = parts.settings
  }

  /** The URL of the database in use; with `embedded`, of the one that was started. */
  get databaseUrl(): string {
    return this.#postgres?.url ?? this.#settings.databaseUrl!
  }

  /**
   * Runs a handler in this process. With a module's URL instead of a function it runs in a thread or process of its own
   * and is killed if it does not stop when it should.
   */
  handle<Input, Payload, Returned, Result>(
    definition: HandlerDefinition<Input, Payload, Returned, Result>,
    ...rest:
      | [code: ((ctx: HandlerContext<Payload, Returned>) => Returned | Promise<Returned>) | URL]
      | [
          options: ImplementOptions,
          code: ((ctx: HandlerContext<Payload, Returned>) => Returned | Promise<Returned>) | URL,
        ]
  ): this {
    if (this.#worker) throw new CarillonError('STATE_CONFLICT', { message: 'handle must be called before start' })
    const [options, code] = rest.length === 1 ? [{}, rest[0]] : rest
    this.#handlers.push(implementHandler(definition, code, options) as RegisteredHandler)
    return this
  }

  /** Brings the schema up to date, joins the installation and begins to run the handlers. */
  async start(): Promise<void> {
    await this.engine.start()
    if (this.#handlers.length === 0) return
    this.#worker = new Worker({
      transport: directTransport(this.engine),
      handlers: this.#handlers,
      reportEveryMs: this.#settings.heartbeatEveryMs,
      completeIn,
      completeInModule: new URL('./complete-in.ts', import.meta.url).href,
      logger: this.#logger,
    })
    await this.#worker.start()
  }

  /** Stops leasing, lets handlers end or hands their executions back, and gives up leadership at once. */
  stop(options: { drainSec?: number } = {}): Promise<void> {
    this.#stopped ??= this.#stop(options)
    return this.#stopped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #stop(options: { drainSec?: number }): Promise<void> {
    await this.#worker?.stop(options)
    await this.engine.stop()
    await this.#postgres?.stop()
  }
}
