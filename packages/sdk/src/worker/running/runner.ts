/**
 * Starts the handlers of executions: a slot, the right time, the announcement if one is needed, the payload's
 * schema, the handler. A handler never begins before `scheduledFor`, nor unannounced where the job is AT_MOST_ONCE, nor
 * beyond its concurrency. The `Ender` ends executions.
 */
import type { Clock } from '@carillon/contract/process'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { ServerClock } from '../../clock.ts'
import { detailsOf } from '../../handler.ts'
import type { Held, HeldTable } from '../held.ts'
import { failureOf, finalFailure } from '../reporting/reported-error.ts'
import type { Ender } from './ender.ts'
import type { HandlerSlots } from './handler-slots.ts'
import { missingResults } from './step-context.ts'
import type { Ticker } from './ticker.ts'

/** A start is reported after this time, unless the outcome has been by then. */
const tellBeganAfterMs = 250
const longestTimerMs = 60_000

export interface RunnerOptions {
  clock: Clock
  serverClock: ServerClock
  table: HeldTable
  ticker: Ticker
  ender: Ender
  /** Sends the announcement of a start; the answer comes back to `startDecided`. */
  announce(held: Held): void
}

export class Runner {
  readonly #options: RunnerOptions
  #closed = false

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** Takes an execution that has just been leased. */
  admit(held: Held): void {
    const { table, ender } = this.#options
    table.add(held)
    if (held.slots === null) {
      ender.handBack(held, 'UNKNOWN_HANDLER')
      return
    }
    held.slots.pool.unfinished++
    held.slots.enqueue(held)
    this.fill(held.slots)
  }

  /** Gives free slots of a handler to the first in its queue. */
  fill(slots: HandlerSlots): void {
    if (slots.filling || this.#closed) return
    slots.filling = true
    while (slots.active < slots.concurrency) {
      const held = slots.next()
      if (held === undefined) break
      slots.active++
      held.occupying = true
      this.#options.ticker.watch(held)
      this.#begin(held)
    }
    slots.filling = false
  }

  /** The answer about a start: to one that waits for it, or to one that has begun and hears that it should not have. */
  startDecided(held: Held, accepted: boolean): void {
    if (!accepted) this.#options.ender.abort(held, 'LEASE_LOST', 'The start was refused')
    else if (held.state === 'PREFETCHED') this.#run(held)
  }

  /** From now on nothing begins. */
  close(): void {
    this.#closed = true
  }

  #begin(held: Held): void {
    const earlyMs = held.execution.scheduledFor - this.#options.serverClock.now()
    if (earlyMs > 0) {
      held.earlyTimer = setTimeout(() => this.#begin(held), Math.min(earlyMs, longestTimerMs))
      return
    }
    held.earlyTimer = null
    if (held.execution.announceStart) this.#options.announce(held)
    else this.#run(held)
  }

  #run(held: Held): void {
    const { execution } = held
    const { clock, serverClock } = this.#options
    const now = clock.now()
    held.state = 'RUNNING'
    held.startedAt = serverClock.at(now)
    held.timeoutAt = now + execution.timeoutSec * 1_000
    if (execution.deadlineAt !== null) held.deadlineAt = serverClock.toLocal(execution.deadlineAt)
    if (execution.heartbeatTimeoutSec !== null) held.silentAt = now + execution.heartbeatTimeoutSec * 1_000
    if (held.beyondSlots && !execution.announceStart) held.beganAt = now + tellBeganAfterMs
    held.schedule()
    const { payload: schema, needs } = held.slots!.definition
    const missing = needs === undefined ? [] : missingResults(Object.keys(needs), execution.dag)
    if (missing.length > 0) {
      this.#options.ender.failed(held, finalFailure('ResultsMissing', `It needs the result of ${missing.join(', ')}`))
      return
    }
    if (schema === undefined) this.#invoke(held, execution.payload)
    else this.#check(held, schema, execution.payload)
  }

  #check(held: Held, schema: StandardSchemaV1, payload: unknown): void {
    const { ender } = this.#options
    let checked: ReturnType<StandardSchemaV1['~standard']['validate']>
    try {
      checked = schema['~standard'].validate(payload)
    } catch (thrown) {
      ender.threw(held, thrown)
      return
    }
    if (checked instanceof Promise) {
      checked.then(
        (later) => this.#checked(held, later),
        (thrown: unknown) => ender.threw(held, thrown),
      )
    } else this.#checked(held, checked)
  }

  #checked(held: Held, checked: StandardSchemaV1.Result<unknown>): void {
    const { ender } = this.#options
    if (checked.issues) {
      const problems = detailsOf(checked.issues, '').map(
        ({ pointer, message }) => `${pointer || 'payload'}: ${message}`,
      )
      ender.failed(held, finalFailure('PayloadInvalid', problems.join('; ')))
    } else if (held.state !== 'RUNNING' || held.aborted !== null) {
      // Stopped while an asynchronous schema was at work: the handler need not begin.
      ender.failed(held, failureOf(held.signal.reason))
    } else this.#invoke(held, checked.value)
  }

  #invoke(held: Held, payload: unknown): void {
    held.invocation = held.slots!.executor.invoke(held, payload, this.#options.ender)
  }
}
