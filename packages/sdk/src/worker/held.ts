/**
 * What the worker holds. An execution is PREFETCHED until its handler begins, RUNNING until its outcome is known, and
 * REPORTING until that outcome was answered; only then does it leave the table. As long as it is in the table every
 * heartbeat names it, so the installation never counts it as lost. GONE means that its lease was lost:
 * it is out of the table and its outcome is dropped, though its handler may still occupy a slot for a moment.
 */
import { type AbortCode, AbortReason } from '../errors.ts'
import { LogLines } from './reporting/log-lines.ts'
import type { HandlerSlots } from './running/handler-slots.ts'
import type { HeldExecution, LeasedExecution, ReportedOutcome } from './transport.ts'

export type HeldState = 'PREFETCHED' | 'RUNNING' | 'REPORTING' | 'GONE'

/** A handler that can be told to stop and, if it does not, be killed. In-process handlers cannot. */
export interface Invocation {
  abort(code: AbortCode, message: string): void
  kill(): void
}

export class Held {
  readonly execution: LeasedExecution
  readonly slots: HandlerSlots | null
  /** Taken beyond the free slots: the installation does not know when it begins unless it is told. */
  readonly beyondSlots: boolean
  state: HeldState = 'PREFETCHED'
  /** True from when a slot of its handler was given to it until the handler is out of the way. */
  occupying = false
  startedAt: number | null = null
  aborted: { code: AbortCode; message: string } | null = null
  invocation: Invocation | null = null
  /** The timer of an execution that came before its time. */
  earlyTimer: NodeJS.Timeout | null = null
  completedInTransaction = false
  /** A handler that never looked at its signal cannot have stopped because of it. */
  signalSeen = false
  /** Its slot was freed although its handler goes on. */
  runaway = false
  outcome: ReportedOutcome | null = null
  /** Its outcome is in the report under way. */
  sent = false
  /** JSON text of the newest progress of this attempt. */
  progress: string | null = null
  /** When something is to be done about it next, on the local clock; the moments below are too. */
  wakeAt = Number.POSITIVE_INFINITY
  timeoutAt = Number.POSITIVE_INFINITY
  deadlineAt = Number.POSITIVE_INFINITY
  silentAt = Number.POSITIVE_INFINITY
  beganAt = Number.POSITIVE_INFINITY
  graceOverAt = Number.POSITIVE_INFINITY
  #controller: AbortController | null = null
  #log: LogLines | null = null

  constructor(execution: LeasedExecution, slots: HandlerSlots | null, beyondSlots: boolean) {
    this.execution = execution
    this.slots = slots
    this.beyondSlots = beyondSlots
  }

  get key(): HeldExecution {
    return { executionId: this.execution.executionId, fence: this.execution.fence }
  }

  /** Made when first asked for: most handlers never do. */
  get signal(): AbortSignal {
    this.signalSeen = true
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.aborted !== null) this.#controller.abort(this.#reason(this.aborted))
    }
    return this.#controller.signal
  }

  abort(code: AbortCode, message: string): void {
    this.aborted = { code, message }
    this.#controller?.abort(this.#reason(this.aborted))
    this.invocation?.abort(code, message)
  }

  log(line: unknown, at: number): void {
    this.#log ??= new LogLines()
    this.#log.add(line, at)
  }

  /** Null: it has logged nothing. */
  get logged(): LogLines | null {
    return this.#log
  }

  schedule(): void {
    this.wakeAt =
      this.graceOverAt !== Number.POSITIVE_INFINITY
        ? this.graceOverAt
        : Math.min(this.timeoutAt, this.deadlineAt, this.silentAt, this.beganAt)
  }

  #reason({ code, message }: { code: AbortCode; message: string }): AbortReason {
    return new AbortReason(code, message)
  }
}

export class HeldTable {
  readonly #byId = new Map<string, Held>()
  #idleWaiters: (() => void)[] = []

  get size(): number {
    return this.#byId.size
  }

  get(executionId: string): Held | undefined {
    return this.#byId.get(executionId)
  }

  /** Finds it if it is held under exactly this lease. */
  find({ executionId, fence }: HeldExecution): Held | undefined {
    const held = this.#byId.get(executionId)
    return held?.execution.fence === fence ? held : undefined
  }

  add(held: Held): void {
    this.#byId.set(held.execution.executionId, held)
  }

  /** Removes it, unless a later lease of the same execution has taken its place. */
  remove(held: Held): void {
    const { executionId } = held.execution
    if (this.#byId.get(executionId) === held) this.#byId.delete(executionId)
    if (this.#byId.size === 0 && this.#idleWaiters.length > 0) {
      const waiters = this.#idleWaiters
      this.#idleWaiters = []
      for (const resolve of waiters) resolve()
    }
  }

  values(): IterableIterator<Held> {
    return this.#byId.values()
  }

  /** Resolves when nothing is held. */
  idle(): Promise<void> {
    if (this.#byId.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  counts(): Record<'PREFETCHED' | 'RUNNING' | 'REPORTING', number> {
    const counts = { PREFETCHED: 0, RUNNING: 0, REPORTING: 0 }
    for (const { state } of this.#byId.values()) if (state !== 'GONE') counts[state]++
    return counts
  }
}
