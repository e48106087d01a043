/**
 * The transport of a remote worker. What must stay true:
 *
 * - The worker registers again with a node that does not know it, once at a time, and repeats its request: nodes come and go, and a worker
 *   that was taken for lost lives on.
 * - An aborted lease closes its connection, so that the node hands back what it would have given.
 * - After `deregister` nothing registers the worker again: first the keep-alive thread and the cancellation watch end.
 */

import {
  CarillonError,
  completeLeased,
  type RegistrationAnswer,
  type LeaseAnswer as WireLeaseAnswer,
} from '@carillon/contract'
import { type Clock, type Logger, systemClock } from '@carillon/contract/process'
import { consoleLogger } from '../../console-logger.ts'
import { type NodeOptions, type NodeRequest, Nodes } from '../../http/nodes.ts'
import { clip } from '../reporting/text.ts'
import type {
  Cancellation,
  LeaseAnswer,
  LeaseRequest,
  ReportAnswer,
  Transport,
  WorkerRegistration,
  WorkerReport,
  WorkerTimes,
} from '../transport.ts'
import { CancellationWatch } from './cancellation-watch.ts'
import { KeepAlive } from './keep-alive.ts'
import { reportBody } from './report-body.ts'

const reportMs = 10_000
const leaseMarginMs = 5_000
const watchWaitMs = 20_000
/** What one lease may ask for, by the contract. */
const mostLeased = 10_000
const longestWaitMs = 60_000

/** For one worker. */
export class HttpTransport implements Transport {
  watchAnsweredAt = Number.NEGATIVE_INFINITY
  readonly #options: NodeOptions
  readonly #nodes: Nodes
  readonly #clock: Clock
  readonly #logger: Logger
  #token: string | undefined
  #registration: WorkerRegistration | null = null
  #announcing: Promise<RegistrationAnswer> | null = null
  #keepAlive: KeepAlive | null = null
  #watch: CancellationWatch | null = null
  #listener: ((cancellation: Cancellation) => void) | null = null
  #leaving = false

  constructor(options: NodeOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#logger = options.logger ?? consoleLogger
    const { token } = options
    if (typeof token === 'function') this.#nodes = new Nodes({ ...options, token: () => this.#freshToken(token) })
    else {
      this.#token = token
      this.#nodes = new Nodes(options)
    }
  }

  async register(worker: WorkerRegistration): Promise<WorkerTimes> {
    this.#registration = { ...worker, name: clip(worker.name.replace(/\p{Cc}/gu, ' '), 200) }
    const { heartbeatEveryMs, logEveryMs } = await this.#register()
    this.#keepAlive?.update(this.#registration)
    if (!this.#leaving) this.#keepAlive ??= this.#startKeepAlive(heartbeatEveryMs)
    await this.#keepAlive?.ready
    return { heartbeatEveryMs, logEveryMs }
  }

  async lease(request: LeaseRequest, signal: AbortSignal): Promise<LeaseAnswer> {
    const watch = this.#watch
    watch?.leaseOpened()
    try {
      const { executions: wire, serverTime } = await this.#poll(request, signal)
      const executions = wire.map(completeLeased)
      for (const { timeoutSec } of executions) this.#keepAlive?.leased(timeoutSec)
      return { executions, serverTime }
    } finally {
      watch?.leaseClosed()
    }
  }

  async report(report: WorkerReport): Promise<ReportAnswer> {
    const answer = (await this.#ask({
      method: 'POST',
      path: `/v1/workers/${report.workerId}/report`,
      body: reportBody(report),
      // A heartbeat is true when it is made: repeated later, it would leave out what was leased meanwhile.
      repeatable: report.held === null,
      timeoutMs: reportMs,
    })) as ReportAnswer
    this.#keepAlive?.reported()
    return answer
  }

  async deregister(workerId: string): Promise<void> {
    this.#leaving = true
    this.#watch?.stop()
    await this.#keepAlive?.stop()
    try {
      await this.#nodes.request({ method: 'DELETE', path: `/v1/workers/${workerId}` })
    } catch (error) {
      if (!isUnknown(error)) throw error
    }
  }

  onCancel(workerId: string, listener: (cancellation: Cancellation) => void): () => void {
    this.#listener = listener
    this.#watch = new CancellationWatch(async (signal) => {
      const { pool } = this.#registration!.pools[0]!
      await this.#poll({ workerId, pool, slots: 0, prefetch: 0, waitMs: watchWaitMs }, signal)
      this.watchAnsweredAt = this.#clock.now()
    })
    return () => {
      this.#watch?.stop()
      this.#listener = null
    }
  }

  async close(): Promise<void> {
    this.#watch?.stop()
    await this.#keepAlive?.stop()
    await this.#nodes.close()
  }

  async #poll({ workerId, pool, ...asked }: LeaseRequest, signal: AbortSignal): Promise<WireLeaseAnswer> {
    const waitMs = Math.min(asked.waitMs, longestWaitMs)
    const slots = Math.min(asked.slots, mostLeased)
    const prefetch = Math.min(asked.prefetch, mostLeased)
    const answer = (await this.#ask({
      method: 'POST',
      path: `/v1/workers/${workerId}/lease`,
      body: JSON.stringify({ pool, slots, prefetch, waitMs }),
      headers: { prefer: 'return=minimal' },
      repeatable: true,
      timeoutMs: waitMs + leaseMarginMs,
      poll: true,
      signal,
    })) as WireLeaseAnswer
    for (const cancellation of answer.cancellations) this.#listener?.(cancellation)
    return answer
  }

  async #ask(request: NodeRequest): Promise<unknown> {
    try {
      return await this.#nodes.request(request)
    } catch (error) {
      if (!isUnknown(error) || this.#leaving) throw error
    }
    await this.#register()
    return this.#nodes.request(request)
  }

  #register(): Promise<RegistrationAnswer> {
    const body = JSON.stringify(this.#registration)
    const request = { method: 'POST', path: '/v1/workers', body, repeatable: true, timeoutMs: reportMs }
    this.#announcing ??= (this.#nodes.request(request) as Promise<RegistrationAnswer>).finally(() => {
      this.#announcing = null
    })
    return this.#announcing
  }

  #startKeepAlive(everyMs: number): KeepAlive {
    const { tenant, tls } = this.#options
    const nodes = { urls: this.#nodes.urls, ...(tenant !== undefined && { tenant }), ...(tls && { tls }) }
    return new KeepAlive({ nodes, token: this.#token, registration: this.#registration!, everyMs }, this.#logger)
  }

  async #freshToken(token: () => string | Promise<string>): Promise<string> {
    this.#token = await token()
    this.#keepAlive?.useToken(this.#token)
    return this.#token
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof CarillonError && error.code === 'WORKER_UNKNOWN'
}
