/**
 * Ends executions: from the handler's return or throw, or from an abort, comes the outcome. What must stay true:
 *
 * - Every execution gets exactly one outcome, or none if its lease was lost. What its handler does later is ignored.
 * - A slot is free again when the handler has ended. Only one that ignores its abort beyond the grace and cannot be
 *   killed gives up its slot while it goes on: it is counted and logged as a runaway.
 */
import type { Clock, Logger } from '@carillon/contract/process'
import type { ServerClock } from '../../clock.ts'
import type { AbortCode } from '../../errors.ts'
import type { Held, HeldTable } from '../held.ts'
import { FailureLog } from '../reporting/failure-log.ts'
import { type Failure, failureOf } from '../reporting/reported-error.ts'
import type { HandBackReason, ReportedOutcome } from '../transport.ts'
import type { ContextHost } from './context.ts'
import type { Settlement } from './executor.ts'
import type { HandlerSlots } from './handler-slots.ts'
import { type CompleteIn, HeldContextHost } from './held-context.ts'
import * as outcomes from './outcomes.ts'
import { type EncodedResult, encodeResult } from './result.ts'
import type { Ticker } from './ticker.ts'

export interface EnderOptions {
  clock: Clock
  serverClock: ServerClock
  table: HeldTable
  ticker: Ticker
  logger: Logger
  completeIn: CompleteIn | undefined
  onOutcome(held: Held): void
  onProgress(held: Held): void
  onLogged(held: Held): void
  /** A slot of the handler, or room in its pool, has become free. */
  onFreed(slots: HandlerSlots): void
}

export class Ender implements Settlement {
  readonly #options: EnderOptions
  readonly #failures: FailureLog
  #runaways = 0

  constructor(options: EnderOptions) {
    this.#options = options
    this.#failures = new FailureLog(options)
  }

  /** Handlers that go on although their attempt is over. */
  get runaways(): number {
    return this.#runaways
  }

  contextHost(held: Held): ContextHost {
    return new HeldContextHost(held, this.#options)
  }

  returned(held: Held, value: unknown): void {
    if (held.state !== 'RUNNING') this.#endedLate(held)
    else if (held.completedInTransaction) this.#finish(held, outcomes.completedInTransaction(held, this.#now()))
    else if (!outcomes.returnCounts(held)) this.#finish(held, outcomes.stopped(held, this.#now(), null))
    else {
      const encoded = encodeResult(held.slots!.definition, value)
      if (encoded instanceof Promise) void encoded.then((later) => this.#encoded(held, later))
      else this.#encoded(held, encoded)
    }
  }

  returnedJson(held: Held, text: string | null): void {
    const asItIs = held.slots!.definition.result === undefined && outcomes.returnCounts(held)
    if (asItIs && held.state === 'RUNNING' && !held.completedInTransaction) this.#encoded(held, text)
    else this.returned(held, text === null ? undefined : JSON.parse(text))
  }

  threw(held: Held, thrown: unknown): void {
    this.failed(held, failureOf(thrown))
  }

  failed(held: Held, failure: Failure): void {
    const now = this.#now()
    if (held.state !== 'RUNNING') this.#endedLate(held)
    else if (outcomes.deferralCounts(held, failure)) this.#finish(held, outcomes.deferred(held, now))
    else if (held.aborted !== null) this.#finish(held, outcomes.stopped(held, now, failure))
    else this.#finish(held, outcomes.failed(held, now, failure))
  }

  handBack(held: Held, reason: HandBackReason): void {
    this.#finish(held, outcomes.handedBack(held, this.#now(), reason))
  }

  /** Aborts an execution. The first reason counts, except that a lost lease always drops the outcome. */
  abort(held: Held, code: AbortCode, message: string): void {
    if (held.state === 'PREFETCHED') {
      held.aborted = { code, message }
      this.#finish(held, outcomes.stopped(held, this.#now(), null))
      return
    }
    if (held.state !== 'RUNNING') return
    if (code === 'LEASE_LOST') this.#drop(held)
    if (held.aborted !== null) return
    held.graceOverAt = this.#options.clock.now() + held.execution.cancelGraceSec * 1_000
    held.schedule()
    held.abort(code, message)
  }

  /** Something about a running execution has come due. */
  due(held: Held, now: number): void {
    const { timeoutSec, heartbeatTimeoutSec } = held.execution
    if (now >= held.graceOverAt) this.#graceOver(held)
    else if (now >= held.timeoutAt) this.abort(held, 'TIMED_OUT', `The handler ran longer than ${timeoutSec} s`)
    else if (now >= held.deadlineAt) this.abort(held, 'TIMED_OUT', 'The deadline over all attempts has passed')
    else if (now >= held.silentAt) {
      this.abort(held, 'TIMED_OUT', `The handler gave no sign of life for ${heartbeatTimeoutSec} s`)
    }
  }

  #encoded(held: Held, encoded: EncodedResult): void {
    if (held.state !== 'RUNNING') this.#endedLate(held)
    else if (typeof encoded === 'object' && encoded !== null) this.failed(held, encoded)
    else this.#finish(held, outcomes.succeeded(held, this.#now(), encoded))
  }

  #graceOver(held: Held): void {
    held.graceOverAt = Number.POSITIVE_INFINITY
    held.wakeAt = Number.POSITIVE_INFINITY
    if (held.state === 'RUNNING') this.#conclude(held, outcomes.stopped(held, this.#now(), null))
    if (held.invocation === null) this.#runAway(held)
    // A killed handler's slot is freed when it is dead, so that it never runs beside its successor.
    else held.invocation.kill()
  }

  #runAway(held: Held): void {
    held.runaway = true
    this.#runaways++
    const { executionId, handler } = held.execution
    const fields = { executionId, handler, code: held.aborted?.code, runaways: this.#runaways }
    this.#options.logger.warn(fields, 'a handler ignores its abort signal and goes on; its slot is reused')
    this.#free(held)
  }

  #finish(held: Held, outcome: ReportedOutcome | null): void {
    this.#conclude(held, outcome)
    this.#free(held)
  }

  #conclude(held: Held, outcome: ReportedOutcome | null): void {
    if (outcome === null) {
      this.#drop(held)
      return
    }
    held.state = 'REPORTING'
    held.outcome = outcome
    this.#failures.ended(held, outcome)
    this.#options.onOutcome(held)
  }

  #drop(held: Held): void {
    held.state = 'GONE'
    this.#options.table.remove(held)
  }

  /** The handler ended after its outcome was settled without it. */
  #endedLate(held: Held): void {
    if (held.runaway) {
      held.runaway = false
      this.#runaways--
      const { executionId, handler } = held.execution
      this.#options.logger.info({ executionId, handler, runaways: this.#runaways }, 'a runaway handler has ended')
    }
    if (held.occupying) this.#free(held)
  }

  #free(held: Held): void {
    const { slots, earlyTimer } = held
    if (slots === null) return
    if (earlyTimer !== null) clearTimeout(earlyTimer)
    slots.pool.unfinished--
    slots.pool.finished++
    if (held.occupying) {
      held.occupying = false
      slots.active--
      this.#options.ticker.unwatch(held)
    }
    this.#options.onFreed(slots)
  }

  #now(): number {
    return this.#options.serverClock.now()
  }
}
