/** Built-in targets are ordinary handlers of a worker inside the node. Null: this node runs none. */
import {
  defineHandler,
  type HandlerContext,
  implementHandler,
  type Logger,
  type RegisteredHandler,
  type Transport,
  Worker,
} from '@carillon/sdk'
import type { TargetConfig } from '../config/target-config.ts'
import type { BoundTokens } from './bound-tokens.ts'
import { checkedAgent, type Resolve } from './http/checked-agent.ts'
import { HttpTargetRunner } from './http/http-target.ts'
import { ShellTargetRunner } from './shell/shell-target.ts'
import type { OperatorRules } from './target-rules.ts'
import { sharedTransport, TenantShare } from './tenant-share.ts'

export interface BuiltInWorkerOptions {
  config: TargetConfig
  rules: OperatorRules
  tokens: BoundTokens
  transport: Transport
  name: string
  logger: Logger
  /** How names are resolved; the system's way unless given. */
  resolve?: Resolve
}

/** Handlers that do not end within it are aborted, and their executions handed back. */
const drainSec = 10

export class BuiltInWorker {
  readonly #worker: Worker
  readonly #close: () => Promise<void>

  constructor(worker: Worker, close: () => Promise<void>) {
    this.#worker = worker
    this.#close = close
  }

  start(): Promise<void> {
    return this.#worker.start()
  }

  async stop(): Promise<void> {
    await this.#worker.stop({ drainSec })
    await this.#close()
  }
}

export function builtInWorker(options: BuiltInWorkerOptions): BuiltInWorker | null {
  const { config, rules, tokens, name, logger } = options
  const { concurrency, secrets, signWith, maxRequestSec } = config
  const shares = new Map<string, TenantShare>()
  const register = (name: 'carillon.http' | 'carillon.shell', run: (ctx: HandlerContext) => Promise<unknown>) => {
    const share = new TenantShare(concurrency)
    shares.set(name, share)
    handlers.push(implementHandler(builtIn(name), (ctx) => share.run(ctx.tenant, () => run(ctx)), { concurrency }))
  }
  const handlers: RegisteredHandler[] = []
  const agent = checkedAgent(rules.urls.addresses, options.resolve)
  if (config.http) {
    const http = new HttpTargetRunner({ rules, secrets, signWith, tokens, dispatcher: agent, maxRequestSec })
    register('carillon.http', (ctx) => http.run(ctx))
  }
  if (config.shell.size > 0) {
    const shell = new ShellTargetRunner({ programs: config.shell, environment: config.shellEnvironment })
    register('carillon.shell', (ctx) => shell.run(ctx))
  }
  if (handlers.length === 0) return null
  // Nothing is taken ahead: behind a slow target it would wait here while other nodes are free.
  const transport = sharedTransport(options.transport, shares)
  const worker = new Worker({ transport, handlers, name, logger, prefetch: 0 })
  return new BuiltInWorker(worker, () => agent.destroy())
}

/** Pool and handler have one name: see jobs/target.ts. */
function builtIn(name: 'carillon.http' | 'carillon.shell') {
  return defineHandler({ name, pool: name })
}
