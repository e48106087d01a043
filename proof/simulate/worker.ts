/** A worker of the world: the SDK's own, with handlers that behave as the seed says and write down what they do. */
import { silentLogger } from '@carillon/contract/process'
import { defineHandler, type HandlerContext, implementHandler, PermanentError, RetryLater, Worker } from '@carillon/sdk'
import type { Run } from '../history.ts'
import type { Network } from './network.ts'
import type { SimulatedNode } from './node.ts'
import { Owner } from './owner.ts'
import type { Random } from './random.ts'
import { drawResult } from './results.ts'
import { SimulatedTransport } from './transport.ts'
import type { World } from './world.ts'

export const handlerName = 'work'
const handler = defineHandler({ name: handlerName })

/** What a handler does, with so many of a hundred runs. */
type Behaviour = 'QUICK' | 'SLOW' | 'FAIL' | 'NEVER_AGAIN' | 'RETRY_LATER' | 'HANG' | 'DEAF' | 'PROGRESS'
const behaviours: [Behaviour, number][] = [
  ['QUICK', 58],
  ['SLOW', 14],
  ['FAIL', 12],
  ['NEVER_AGAIN', 1],
  ['RETRY_LATER', 2],
  ['HANG', 3],
  ['DEAF', 2],
  ['PROGRESS', 8],
]

export interface WorkerSurroundings {
  world: World
  network: Network
  nodes: readonly SimulatedNode[]
  random: Random
  runs: Run[]
  /** While false, every handler ends soon and well. */
  isTroubled: () => boolean
  onError: (message: string) => void
  heartbeatsApart: boolean
}

export class SimulatedWorker {
  readonly name: string
  readonly #around: WorkerSurroundings
  #process: Owner
  #worker: Worker | null = null
  #running = 0

  constructor(name: string, around: WorkerSurroundings) {
    this.name = name
    this.#around = around
    this.#process = new Owner(name, null, around.world.now)
    this.#process.end()
  }

  get isUp(): boolean {
    return !this.#process.isGone
  }

  get process(): Owner {
    return this.#process
  }

  /** Whether handlers of it run at this moment. */
  get isBusy(): boolean {
    return this.isUp && this.#running > 0
  }

  /** Of the process that is up, or was last. */
  get workerId(): string | null {
    return this.#worker?.workerId ?? null
  }

  start(clock: { offsetMs: number; drift: number } = { offsetMs: 0, drift: 0 }): void {
    const { world, random } = this.#around
    const process = world.spawn(this.name)
    this.#process = process
    this.#running = 0
    Object.assign(process, clock)
    world.as(process, () => {
      const worker = this.#make(random)
      this.#worker = worker
      worker.start().catch(() => process.end())
    })
  }

  crash(): void {
    this.#process.end()
  }

  /** As on SIGTERM: handlers may end, then it leaves. */
  retire(): void {
    const process = this.#process
    void this.#around.world.as(process, () => this.#worker!.stop({ drainSec: 2 }).finally(() => process.end()))
  }

  #make(random: Random): Worker {
    const { network, nodes, onError, heartbeatsApart } = this.#around
    return new Worker({
      transport: new SimulatedTransport({ network, nodes, random, heartbeatsApart }),
      handlers: [implementHandler(handler, (ctx) => this.#run(ctx), { concurrency: 5 })],
      ...{ name: this.name, leaseWaitMs: 15_000, logger: { ...silentLogger, error: (_, message) => onError(message) } },
    })
  }

  async #run(ctx: HandlerContext): Promise<unknown> {
    const { world, runs } = this.#around
    const note = (what: Run['what'], more: Pick<Run, 'given' | 'result'> = {}) => {
      const { executionId, fence, attempt } = ctx
      world.note(`run ${what} ${executionId} ${fence}`)
      runs.push({ worker: this.name, what, executionId, fence, attempt, at: world.now, ...more })
    }
    const worker = this.#worker
    this.#running++
    note('BEGAN', givenTo(ctx))
    try {
      const result = resultOf(ctx, await this.#behave(ctx), this.#around.random)
      note('SUCCEEDED', ctx.dag === null ? {} : { result })
      return result
    } catch (error) {
      note(ctx.signal.aborted ? 'STOPPED' : 'FAILED')
      throw error
    } finally {
      if (worker === this.#worker) this.#running--
    }
  }

  async #behave(ctx: HandlerContext): Promise<unknown> {
    const { world, random, isTroubled } = this.#around
    const wait = (ms: number) => Promise.race([world.sleep(ms), aborted(ctx.signal)])
    if (ctx.dag !== null && (ctx.payload as { fails: boolean }).fails && random.chance(0.7)) {
      throw new PermanentError('as the step says')
    }
    switch (isTroubled() ? choose(random, ctx.attempt) : 'QUICK') {
      case 'QUICK':
        return world.sleep(random.whole(0, 40))
      case 'SLOW':
        return wait(random.whole(200, 3_000))
      case 'FAIL':
        await wait(random.whole(0, 300))
        throw new Error('as the seed says')
      case 'NEVER_AGAIN':
        throw new PermanentError('as the seed says')
      case 'RETRY_LATER':
        throw new RetryLater(random.whole(100, 4_000))
      case 'HANG':
        return wait(600_000)
      case 'DEAF':
        return world.sleep(random.whole(3_000, 20_000))
      case 'PROGRESS':
        for (let step = 1; step <= 5; step++) {
          ctx.heartbeat({ step })
          await wait(random.whole(50, 600))
        }
        return { done: true }
    }
  }
}

/** What a step was told of its run. */
function givenTo({ dag }: HandlerContext): Pick<Run, 'given'> {
  return dag === null ? {} : { given: { payload: dag.payload, results: dag.results, states: dag.states } }
}

/** Steps return what no other run of them returns, some nothing. */
function resultOf({ dag, fence }: HandlerContext, result: unknown, random: Random): unknown {
  if (dag === null) return result
  return random.chance(0.15) ? undefined : { step: dag.step, ...drawResult(random, fence) }
}

/** Later attempts take their time: then whatever is still on its way of the one before meets them. */
function choose(random: Random, attempt: number): Behaviour {
  if (attempt > 1 && random.chance(0.4)) return 'SLOW'
  let left = random.whole(1, 100)
  for (const [behaviour, share] of behaviours) {
    left -= share
    if (left <= 0) return behaviour
  }
  return 'QUICK'
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
