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
import type { EngineConfig } from '../config/engine-config.ts'
import type { Engine } from '../main.ts'
import type { Logger } from '../observability/logger.ts'
import type { BuiltInWorker } from '../targets/built-in-worker.ts'
import { directTransport } from '../workers/direct-transport.ts'
import { CarillonCalls } from './calls.ts'
import { checkStop } from './checks.ts'
import { completeIn } from './complete-in.ts'

type Code<Payload, Returned, Needs> =
  | ((ctx: HandlerContext<Payload, Returned, Needs>) => Returned | Promise<Returned>)
  | URL

export interface CarillonParts {
  logger: Logger
  tenant: string | undefined
  /** The embedded PostgreSQL, which ends with this Carillon; null: the database is not ours. */
  postgres: { stop(): Promise<void> } | null
  config: EngineConfig
  /** Runs built-in targets. */
  builtIn: BuiltInWorker
}

export class Carillon extends CarillonCalls {
  readonly #parts: CarillonParts
  readonly #handlers: RegisteredHandler[] = []
  #worker: Worker | null = null
  #starting: Promise<void> | null = null
  #stopped: Promise<void> | null = null

  /** Use `createCarillon`. */
  constructor(engine: Engine, parts: CarillonParts) {
    super(engine, parts.tenant)
    this.#parts = parts
  }

  /** The URL of the database in use; with `embedded`, of the one that was started. */
  get databaseUrl(): string {
    return this.#parts.config.databaseUrl
  }

  /**
   * Runs a handler in this process: what `implementHandler` made, or a definition and its code. With a module's URL instead
   * of a function it runs in a thread or process of its own and is killed if it does not stop when it should.
   */
  handle(implemented: RegisteredHandler): this
  handle<Input, Payload, Returned, Result, Needs = undefined>(
    definition: HandlerDefinition<Input, Payload, Returned, Result, Needs>,
    code: Code<Payload, Returned, Needs>,
  ): this
  handle<Input, Payload, Returned, Result, Needs = undefined>(
    definition: HandlerDefinition<Input, Payload, Returned, Result, Needs>,
    options: ImplementOptions,
    code: Code<Payload, Returned, Needs>,
  ): this
  handle(first: RegisteredHandler | HandlerDefinition, ...rest: unknown[]): this {
    if (this.#starting) {
      throw new CarillonError('STATE_CONFLICT', {
        message: `handle was called after ${this.#stopped ? 'stop' : 'start'}`,
        hint: 'Register every handler before start()',
      })
    }
    this.#handlers.push(implementedOf(first, rest))
    return this
  }

  /** Brings the schema up to date, joins the installation and begins to run the handlers. */
  start(): Promise<void> {
    if (this.#stopped) throw this.#isStopped()
    this.#starting ??= this.#start()
    return this.#starting
  }

  /** Stops leasing, lets handlers end or hands their executions back, and gives up leadership at once. */
  stop(options: { drainSec?: number } = {}): Promise<void> {
    checkStop(options)
    this.#stopped ??= this.#stop(options)
    return this.#stopped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  protected override get engine(): Engine {
    if (this.#stopped) throw this.#isStopped()
    return super.engine
  }

  async #start(): Promise<void> {
    const { logger, config, builtIn } = this.#parts
    await super.engine.start()
    await builtIn.start()
    if (this.#handlers.length === 0) return
    this.#worker = new Worker({
      transport: directTransport(super.engine),
      handlers: this.#handlers,
      reportEveryMs: config.heartbeatEveryMs,
      completeIn,
      completeInModule: new URL('./complete-in.ts', import.meta.url).href,
      logger,
    })
    await this.#worker.start()
  }

  async #stop(options: { drainSec?: number }): Promise<void> {
    // The caller of `start` has already got the error.
    await this.#starting?.catch(() => {})
    await this.#worker?.stop(options)
    await this.#parts.builtIn.stop()
    await super.engine.stop()
    await this.#parts.postgres?.stop()
  }

  #isStopped(): CarillonError {
    return new CarillonError('STATE_CONFLICT', {
      message: 'this Carillon is stopped',
      hint: 'Await everything before stop(); to go on, make another with createCarillon',
    })
  }
}

function implementedOf(first: RegisteredHandler | HandlerDefinition, rest: unknown[]): RegisteredHandler {
  if (first !== null && typeof first === 'object' && 'definition' in first) {
    if (rest.length === 0) return first
    throw new CarillonError('VALIDATION', {
      message: `handler ${first.definition.name} has its code already`,
      hint: 'Call handle(implemented) alone; options go to implementHandler(definition, code, options)',
    })
  }
  const [options, code] = rest.length < 2 ? [{}, rest[0]] : [rest[0], rest[1]]
  return implementHandler(first, code as never, options as ImplementOptions) as RegisteredHandler
}
