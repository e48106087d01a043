/**
 * A worker's way to the nodes, as packages/sdk/src/worker/remote/http-transport.ts and the routes behind it do it, with the
 * world's network between them: any node will do, one that does not know the worker is told of it and asked again.
 */
import { CarillonError } from '@carillon/contract'
import type {
  Cancellation,
  LeaseAnswer,
  LeaseRequest,
  ReportAnswer,
  Transport,
  WorkerRegistration,
  WorkerReport,
  WorkerTimes,
} from '@carillon/sdk'
import { CancellationWatch } from '../../packages/sdk/src/worker/remote/cancellation-watch.ts'
import type { Engine } from '../../packages/server/src/main.ts'
import { leasedExecutions } from '../../packages/server/src/store/executions/lease.ts'
import { type AskOptions, type Network, trouble } from './network.ts'
import type { SimulatedNode } from './node.ts'
import type { Random } from './random.ts'

const reportMs = 10_000
const marginMs = 5_000
const watchWaitMs = 5_000
/** Of outcomes whose heartbeat went ahead. Any message may be lost; were it seldom, both would be there by the next look. */
const lostApart = 0.7

export interface TransportOptions {
  nodes: readonly SimulatedNode[]
  network: Network
  random: Random
  /** For a broken variant: heartbeats go ahead of the outcomes that belong to them. */
  heartbeatsApart: boolean
}

export class SimulatedTransport implements Transport {
  readonly #nodes: readonly SimulatedNode[]
  readonly #network: Network
  readonly #random: Random
  readonly #heartbeatsApart: boolean
  #node: SimulatedNode
  #registration: WorkerRegistration | null = null
  #watch: CancellationWatch | null = null
  #listener: ((cancellation: Cancellation) => void) | null = null

  constructor(options: TransportOptions) {
    this.#nodes = options.nodes
    this.#network = options.network
    this.#random = options.random
    this.#heartbeatsApart = options.heartbeatsApart
    this.#node = this.#random.pick(this.#nodes)
  }

  register(worker: WorkerRegistration): Promise<WorkerTimes> {
    this.#registration = worker
    return this.#register()
  }

  async lease(request: LeaseRequest, signal: AbortSignal): Promise<LeaseAnswer> {
    this.#watch?.leaseOpened()
    try {
      return await this.#poll(request, signal)
    } finally {
      this.#watch?.leaseClosed()
    }
  }

  async report(report: WorkerReport): Promise<ReportAnswer> {
    if (!this.#heartbeatsApart || report.held === null) return this.#tell(report)
    const { cancellations, lost } = await this.#tell({ ...report, outcomes: [], began: [], progress: [] })
    if (this.#random.chance(lostApart)) throw new Error('the outcomes are lost on their way')
    return { ...(await this.#tell({ ...report, held: null })), cancellations, lost }
  }

  #tell(report: WorkerReport): Promise<ReportAnswer> {
    const options = { what: 'report', timeoutMs: reportMs, repeatable: report.held === null }
    return this.#ask(options, async ({ workerSessions }) => {
      const worker = await workerSessions.find(report.workerId, null)
      const answer = await workerSessions.report({ ...report, held: worker ? report.held : null })
      if (!worker) throw new CarillonError('WORKER_UNKNOWN', 'the worker is not registered')
      return answer
    })
  }

  async deregister(workerId: string): Promise<void> {
    this.#watch?.stop()
    await this.#once({ what: 'deregister', timeoutMs: reportMs }, ({ workerSessions }) =>
      workerSessions.deregister(workerId),
    )
  }

  onCancel(workerId: string, listener: (cancellation: Cancellation) => void): () => void {
    this.#listener = listener
    const { pool } = this.#registration!.pools[0]!
    this.#watch = new CancellationWatch(async (signal) => {
      await this.#poll({ workerId, pool, slots: 0, prefetch: 0, waitMs: watchWaitMs }, signal)
    })
    return () => this.#watch?.stop()
  }

  async #poll(request: LeaseRequest, signal: AbortSignal): Promise<LeaseAnswer> {
    const options = { what: 'lease', timeoutMs: request.waitMs + marginMs, repeatable: true, signal }
    const answer = await this.#ask(options, async ({ workerSessions, clock }, gone) => {
      const { executions, cancellations, closing } = await workerSessions.poll(request, null, gone)
      return { executions: leasedExecutions(executions), cancellations, closing, serverTime: clock.now() }
    })
    if (answer.closing) this.#move()
    for (const cancellation of answer.cancellations) this.#listener?.(cancellation)
    return answer
  }

  #register(): Promise<WorkerTimes> {
    const worker = this.#registration!
    return this.#once({ what: 'register', timeoutMs: reportMs, repeatable: true }, async ({ workerSessions }) => {
      await workerSessions.register(worker)
      return workerSessions.times
    })
  }

  async #ask<T>(options: AskOptions, work: (engine: Engine, gone: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await this.#once(options, work)
    } catch (error) {
      if (!(error instanceof CarillonError && error.code === 'WORKER_UNKNOWN')) throw error
    }
    await this.#register()
    return this.#once(options, work)
  }

  /** Of a node that cannot be reached the next one is asked, each once. */
  async #once<T>(options: AskOptions, work: (engine: Engine, gone: AbortSignal) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const node = this.#node
      try {
        if (!node.isReady) throw trouble('ECONNREFUSED', options.what)
        return await this.#network.ask(node.main, options, (gone) => work(node.engine, gone))
      } catch (error) {
        if (error instanceof CarillonError && error.code !== 'UNAVAILABLE') throw error
        if (this.#node === node) this.#move()
        const untaken = (error as { code?: string }).code === 'ECONNREFUSED'
        if (!untaken && !options.repeatable) throw error
        if (options.signal?.aborted || tries >= this.#nodes.length) throw error
      }
    }
  }

  #move(): void {
    this.#node = this.#random.pick(this.#nodes)
  }
}
