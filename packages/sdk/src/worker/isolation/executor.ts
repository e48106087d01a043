/**
 * Runs a handler's executions in threads or processes of their own, one at a time in each. Those that are idle are used
 * again, the last used first; there are never more than the handler's concurrency, since the worker gives out no more
 * slots. One that was killed or crashed is gone; the next execution starts a fresh one. Nothing that happens in there
 * takes the worker down.
 */
import type { Logger } from '@carillon/contract/process'
import type { Held, Invocation } from '../held.ts'
import { failureOf, finalFailure, reportedError } from '../reporting/reported-error.ts'
import type { ContextHost } from '../running/context.ts'
import type { Executor, Settlement } from '../running/executor.ts'
import type { RegisteredHandler } from '../running/registered-handler.ts'
import { type HandlerHost, type HostEvents, startProcess, startThread } from './host.ts'
import type { FromChild } from './messages.ts'

interface Seat {
  host: HandlerHost
  run: number
  task: { held: Held; context: ContextHost; settlement: Settlement } | null
}

export class IsolatedExecutor implements Executor {
  readonly #handler: RegisteredHandler
  readonly #completeInModule: string | null
  readonly #logger: Logger
  readonly #idle: Seat[] = []
  readonly #all = new Set<Seat>()
  #allGone: (() => void) | null = null

  constructor(handler: RegisteredHandler, options: { completeInModule: string | undefined; logger: Logger }) {
    this.#handler = handler
    this.#completeInModule = options.completeInModule ?? null
    this.#logger = options.logger
  }

  invoke(held: Held, payload: unknown, settlement: Settlement): Invocation | null {
    const context = settlement.contextHost(held)
    let seat: Seat
    try {
      seat = this.#idle.pop() ?? this.#open()
    } catch (thrown) {
      settlement.failed(held, failureOf(thrown))
      return null
    }
    seat.task = { held, context, settlement }
    seat.run++
    const { run, host } = seat
    const { payload: _asItCame, ...facts } = held.execution
    try {
      host.send({ type: 'RUN', run, facts, payload, deadlineMs: context.deadlineMs, serverNow: context.serverNow() })
    } catch (thrown) {
      // Only a payload that cannot be cloned makes a message unsendable.
      this.#vacate(seat)
      const message = `The payload cannot be passed to an isolated handler: ${reportedError(thrown).message}`
      settlement.failed(held, finalFailure('PayloadInvalid', message))
      return null
    }
    return {
      abort: (code, message) => {
        if (seat.run === run) host.send({ type: 'ABORT', run, code, message })
      },
      kill: () => {
        if (seat.run === run) host.kill()
      },
    }
  }

  close(): Promise<void> {
    const gone = new Promise<void>((resolve) => {
      this.#allGone = resolve
    })
    for (const seat of this.#all) seat.host.kill()
    if (this.#all.size === 0) this.#allGone?.()
    return gone
  }

  #open(): Seat {
    const events: HostEvents = {
      message: (message) => this.#heard(seat, message),
      ended: (cause) => this.#ended(seat, cause),
    }
    const setup = { module: this.#handler.module!.href, completeInModule: this.#completeInModule }
    const options = { setup, memoryMb: this.#handler.memoryMb }
    const host = this.#handler.isolation === 'PROCESS' ? startProcess(options, events) : startThread(options, events)
    const seat: Seat = { host, run: 0, task: null }
    this.#all.add(seat)
    return seat
  }

  #heard(seat: Seat, message: FromChild): void {
    if (seat.task === null || message.run !== seat.run) return
    const { held, context, settlement } = seat.task
    switch (message.type) {
      case 'HEARTBEAT':
        context.heartbeat(message.progress)
        break
      case 'LOG':
        context.log(message.line)
        break
      case 'RETURNED':
        this.#vacate(seat)
        held.completedInTransaction = message.completedInTransaction
        held.signalSeen ||= message.signalSeen
        settlement.returnedJson(held, message.result)
        break
      case 'FAILED':
        this.#vacate(seat)
        settlement.failed(held, message.failure)
    }
  }

  #vacate(seat: Seat): void {
    seat.task = null
    if (this.#all.has(seat)) this.#idle.push(seat)
  }

  #ended(seat: Seat, { description, error }: { description: string; error?: unknown }): void {
    this.#all.delete(seat)
    const at = this.#idle.indexOf(seat)
    if (at >= 0) this.#idle.splice(at, 1)
    const { task } = seat
    seat.task = null
    if (this.#allGone !== null && this.#all.size === 0) this.#allGone()
    const handler = this.#handler.definition.name
    if (task === null) {
      if (this.#allGone === null)
        this.#logger.warn({ handler, error }, `an idle isolated handler ended: ${description}`)
      return
    }
    const cause = error === undefined ? null : reportedError(error)
    const message = cause === null ? description : `${description}: ${cause.name}: ${cause.message}`
    task.settlement.failed(task.held, {
      error: reportedError({ name: 'HandlerCrashed', message, stack: cause?.stack }),
    })
  }
}
