/** Built-in targets are ordinary handlers of a worker inside the node. */
import type { BuiltInKind } from '@carillon/contract'
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
import { builtInName } from '../domain/built-in-targets.ts'
import type { BoundTokens } from './bound-tokens.ts'
import { type RunStarter, runDag } from './dag/dag-target.ts'
import { checkedAgent, type Resolve } from './http/checked-agent.ts'
import { HttpTargetRunner } from './http/http-target.ts'
import { KafkaTargetRunner } from './kafka/kafka-target.ts'
import { LambdaTargetRunner, lambdaAgent } from './lambda/lambda-target.ts'
import { ShellTargetRunner } from './shell/shell-target.ts'
import type { OperatorRules } from './target-rules.ts'
import { sharedTransport, TenantShare } from './tenant-share.ts'

export interface BuiltInWorkerOptions {
  config: TargetConfig
  rules: OperatorRules
  tokens: BoundTokens
  runs: RunStarter
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
  readonly #closing: readonly (() => Promise<void>)[]

  constructor(worker: Worker, closing: readonly (() => Promise<void>)[]) {
    this.#worker = worker
    this.#closing = closing
  }

  start(): Promise<void> {
    return this.#worker.start()
  }

  async stop(): Promise<void> {
    await this.#worker.stop({ drainSec })
    await Promise.all(this.#closing.map((close) => close()))
  }
}

/** Messages to Kafka under way at once: each has a producer of its own, and with it a connection. */
const maxPublishing = 32

/** Throws CONFIG_INVALID for what is configured and cannot be: a package that is missing, a secret that is not there. */
export async function builtInWorker(options: BuiltInWorkerOptions): Promise<BuiltInWorker> {
  const { config, rules, tokens, runs, name, logger } = options
  const { secrets, signWith, maxRequestSec } = config
  const shares = new Map<string, TenantShare>()
  const handlers: RegisteredHandler[] = []
  const closing: (() => Promise<void>)[] = []
  const register = (kind: BuiltInKind, run: (ctx: HandlerContext) => Promise<unknown>, most = config.concurrency) => {
    const concurrency = Math.min(config.concurrency, most)
    const share = new TenantShare(concurrency)
    // Pool and handler have one name: see jobs/target.ts.
    const builtIn = defineHandler({ name: builtInName(kind), pool: builtInName(kind) })
    shares.set(builtInName(kind), share)
    handlers.push(implementHandler(builtIn, (ctx) => share.run(ctx.tenant, () => run(ctx)), { concurrency }))
  }
  register('dag', (ctx) => runDag(ctx, runs))
  if (config.http) {
    const dispatcher = checkedAgent(rules.urls.addresses, options.resolve)
    const http = new HttpTargetRunner({ rules, secrets, signWith, tokens, dispatcher, maxRequestSec })
    register('http', (ctx) => http.run(ctx))
    closing.push(() => dispatcher.destroy())
  }
  if (config.shell.size > 0) {
    const shell = new ShellTargetRunner({ programs: config.shell, environment: config.shellEnvironment, secrets })
    register('shell', (ctx) => shell.run(ctx))
  }
  if (config.kafka.size > 0) {
    const clusters = { clusters: config.kafka, clientId: 'carillon-targets' }
    const kafka = await KafkaTargetRunner.open({ rules, ...clusters, secrets, maxRequestSec })
    register('kafka', (ctx) => kafka.run(ctx), maxPublishing)
    closing.push(() => kafka.stop())
  }
  if (config.lambda !== null) {
    const dispatcher = lambdaAgent()
    const lambda = new LambdaTargetRunner({ rules, config: config.lambda, secrets, dispatcher, maxRequestSec })
    register('lambda', (ctx) => lambda.run(ctx))
    closing.push(() => dispatcher.destroy())
  }
  // Nothing is taken ahead: behind a slow target it would wait here while other nodes are free.
  const transport = sharedTransport(options.transport, shares)
  const worker = new Worker({ transport, handlers, name, logger, prefetch: 0 })
  return new BuiltInWorker(worker, closing)
}
