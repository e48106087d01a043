/** The isolated side: runs the handler's module for one execution after the other, inside a thread or process. */
import { systemClock } from '@carillon/contract/process'
import { ServerClock } from '../../clock.ts'
import { AbortReason } from '../../errors.ts'
import { LogLines } from '../reporting/log-lines.ts'
import { type Failure, failureOf } from '../reporting/reported-error.ts'
import { type ContextHost, createContext, type HandlerContext } from '../running/context.ts'
import type { CompleteIn } from '../running/held-context.ts'
import { encodeResult } from '../running/result.ts'
import type { ChildSetup, FromChild, ToChild } from './messages.ts'

type HandlerFunction = (ctx: HandlerContext) => unknown
type RunMessage = Extract<ToChild, { type: 'RUN' }>

export function serveHandler(setup: ChildSetup, send: (message: FromChild) => void): (message: ToChild) => void {
  const loaded = loadHandler(setup.module)
  // A module that cannot be loaded fails every execution that comes, not the thread.
  loaded.catch(() => {})
  let current: ChildHost | null = null
  return (message) => {
    if (message.type === 'ABORT') {
      if (current?.run === message.run) current.abort(new AbortReason(message.code, message.message))
      return
    }
    current = new ChildHost(message, setup, send)
    void runHandler(message, current, loaded, send)
  }
}

async function runHandler(
  { run, facts, payload }: RunMessage,
  host: ChildHost,
  loaded: Promise<HandlerFunction>,
  send: (message: FromChild) => void,
): Promise<void> {
  let failure: Failure
  try {
    const handler = await loaded
    const value = await handler(createContext(facts, payload, host))
    const { completedInTransaction, signalSeen } = host
    const result = completedInTransaction ? null : await encodeResult(noSchema, value)
    if (typeof result !== 'object' || result === null) {
      host.over = true
      send({ type: 'RETURNED', run, result, completedInTransaction, signalSeen })
      return
    }
    failure = result
  } catch (thrown) {
    failure = failureOf(thrown)
  }
  host.over = true
  send({ type: 'FAILED', run, failure })
}

/** The result's schema is the worker's to ask: schemas do not travel. */
const noSchema = { name: '', pool: '' }

async function loadHandler(url: string): Promise<HandlerFunction> {
  const module = (await import(url)) as { default?: unknown; handler?: unknown }
  const handler = module.default ?? module.handler
  if (typeof handler !== 'function') throw new TypeError(`${url} exports no function as default or as \`handler\``)
  return handler as HandlerFunction
}

class ChildHost implements ContextHost {
  readonly run: number
  readonly deadlineMs: number
  completedInTransaction = false
  signalSeen = false
  over = false
  readonly #message: RunMessage
  readonly #setup: ChildSetup
  readonly #send: (message: FromChild) => void
  readonly #serverClock = new ServerClock(systemClock)
  readonly #controller = new AbortController()
  readonly #log = new LogLines()

  constructor(message: RunMessage, setup: ChildSetup, send: (message: FromChild) => void) {
    this.run = message.run
    this.deadlineMs = message.deadlineMs
    this.#message = message
    this.#setup = setup
    this.#send = send
    this.#serverClock.observe(message.serverNow)
  }

  get signal(): AbortSignal {
    this.signalSeen = true
    return this.#controller.signal
  }

  abort(reason: AbortReason): void {
    this.#controller.abort(reason)
  }

  heartbeat(progress: string | undefined): void {
    if (!this.over) this.#send({ type: 'HEARTBEAT', run: this.run, progress })
  }

  log(line: unknown): void {
    if (this.over || this.#log.closed) return
    const before = this.#log.lines.length
    this.#log.add(line)
    this.#send({ type: 'LOG', run: this.run, line: this.#log.lines.slice(before).join('\n') })
  }

  serverNow(): number {
    return this.#serverClock.now()
  }

  async completeIn(tx: unknown, result: unknown): Promise<void> {
    const { completeInModule } = this.#setup
    if (completeInModule === null)
      throw new Error('completeIn in an isolated handler needs the option completeInModule')
    const { completeIn } = (await import(completeInModule)) as { completeIn: CompleteIn }
    const encoded = await encodeResult(noSchema, result)
    if (typeof encoded === 'object' && encoded !== null) throw new TypeError(encoded.error.message)
    const { executionId, fence } = this.#message.facts
    await completeIn(tx, { executionId, fence, result: encoded })
    this.completedInTransaction = true
  }
}
