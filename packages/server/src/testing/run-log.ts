/**
 * What the handlers did. Everything that a worker of the test holds has an entry from its lease until its outcome was
 * answered, so that the owner of the clock knows whether something is still going on.
 *
 * What must stay true: an entry is at rest only if nothing of it can move while time stands still. A handler that looked at
 * its signal and then did nothing for `patienceMs` is taken to wait for time to pass; one that has not looked is at work.
 */
import { CarillonError, type LeasedExecution, type ReportVerdict } from '@carillon/contract'
import type { ReportedOutcome } from '@carillon/sdk'
import { reservedPrefix } from '../domain/built-in-targets.ts'
import { type Clock, monotonicMs } from '../lib/clock.ts'

/**
 * How an attempt ended. CRASHED: its worker died, see `crash`. REFUSED: what it said did not count, its lease was another
 * attempt's by then.
 */
export type RunOutcome =
  | 'RUNNING'
  | Exclude<ReportedOutcome['outcome'], 'COMPLETED_IN_TRANSACTION'>
  | 'CRASHED'
  | 'REFUSED'

/** One attempt, by the virtual clock. */
export interface Run {
  handler: string
  executionId: string
  jobId: string
  tenant: string
  attempt: number
  fence: number
  payload: unknown
  scheduledFor: Date
  dueAt: Date
  startedAt: Date
  finishedAt: Date | null
  outcome: RunOutcome
  result: unknown
  error: { name: string; message: string } | null
}

export interface RunLogOptions {
  clock: Clock
  /** How many executions of a handler run at once. */
  concurrencyOf: (handler: string) => number
  settleMs: number
  patienceMs: number
}

export interface Entry {
  readonly execution: LeasedExecution
  readonly run: Run
  began: boolean
  /** It is among the runs. */
  shown: boolean
  /** It asked for its signal: it may wait for it. */
  looked: boolean
  /** It was told to stop, and may be tidying up. */
  aborted: boolean
  /** When it last did something, in real time. */
  activeAt: number
}

/** Poll interval for changes that are not announced. */
const lookAgainMs = 20
/** An aborted handler has this many times the patience before it counts as ignoring its abort. */
const tidyingTimes = 10

export class RunLog {
  readonly #options: RunLogOptions
  readonly #held = new Map<string, Entry>()
  readonly #runs: Run[] = []
  #changedAt = monotonicMs()
  #version = 0
  #waiters: (() => void)[] = []

  constructor(options: RunLogOptions) {
    this.#options = options
  }

  /** When something was last heard of any handler, in real time. */
  get changedAt(): number {
    return this.#changedAt
  }

  /** Another number after every change. */
  get version(): number {
    return this.#version
  }

  get runs(): readonly Run[] {
    return this.#runs
  }

  heldIn(pool: string): number {
    return [...this.#held.values()].filter(({ execution }) => execution.pool === pool).length
  }

  holds(key: string): boolean {
    return this.#held.has(key)
  }

  entry(execution: { executionId: string; fence: number }): Entry | undefined {
    return this.#held.get(keyOf(execution))
  }

  leased(execution: LeasedExecution): Entry {
    const { executionId, jobId, tenant, handler, attempt, fence, payload } = execution
    const run: Run = {
      ...{ handler, executionId, jobId, tenant, attempt, fence, payload },
      scheduledFor: new Date(execution.scheduledFor),
      dueAt: new Date(execution.dueAt),
      startedAt: new Date(this.#options.clock.now()),
      finishedAt: null,
      outcome: 'RUNNING',
      result: null,
      error: null,
    }
    const entry = { execution, run, began: false, shown: false, looked: false, aborted: false, activeAt: monotonicMs() }
    for (const older of this.#held.values()) {
      if (older.run.executionId === executionId && older.run.fence < fence) this.#end(older, 'REFUSED')
    }
    this.#held.set(keyOf(execution), entry)
    this.#touch()
    return entry
  }

  began(entry: Entry): void {
    entry.began = true
    this.#show(entry, this.#options.clock.now())
    this.active(entry)
  }

  active(entry: Entry): void {
    entry.activeAt = monotonicMs()
    this.#touch()
  }

  aborted(entry: Entry): void {
    entry.aborted = true
    this.active(entry)
  }

  /** An outcome was answered. `committed`: of one that ended in its own transaction, what became of that. */
  reported(said: ReportedOutcome, verdict: ReportVerdict, committed: { result: unknown } | null): void {
    const entry = this.#held.get(keyOf(said))
    if (!entry || verdict === 'BUSY') return
    if (said.startedAt !== null) {
      this.#show(entry, said.startedAt)
      const outcome = said.outcome === 'COMPLETED_IN_TRANSACTION' ? (committed ? 'SUCCEEDED' : 'FAILED') : said.outcome
      entry.run.outcome = verdict === 'REFUSED' ? 'REFUSED' : outcome
      entry.run.finishedAt = new Date(said.finishedAt)
      if (said.outcome === 'SUCCEEDED') entry.run.result = said.result === null ? null : JSON.parse(said.result)
      else if (committed) entry.run.result = committed.result
      if ('error' in said && said.error) entry.run.error = { name: said.error.name, message: said.error.message }
    }
    this.#drop(entry)
  }

  /** Its start was refused: the handler does not begin. */
  notStarted(execution: { executionId: string; fence: number }): void {
    const entry = this.#held.get(keyOf(execution))
    if (entry) this.#drop(entry)
  }

  /** Its worker died; no outcome will come. */
  crashed(entry: Entry): void {
    this.#show(entry, this.#options.clock.now())
    this.#end(entry, 'CRASHED')
  }

  /** Resolves when every handler has ended and its outcome was answered, or waits for time to pass. */
  async rest(): Promise<void> {
    for (;;) {
      const now = monotonicMs()
      const moving = [...this.#held.values()].filter((entry) => !this.#waits(entry, now))
      if (moving.length === 0) return
      const { settleMs } = this.#options
      const late = moving.find((entry) => now - (entry.began ? entry.activeAt : this.#changedAt) > settleMs)
      if (late) throw tooLong(late.run, settleMs)
      await this.changed(lookAgainMs)
    }
  }

  /** Resolves at the next change, or after the poll interval. */
  async changed(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#waiters.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #waits(entry: Entry, now: number): boolean {
    if (entry.began) {
      const patienceMs = this.#options.patienceMs * (entry.aborted ? tidyingTimes : 1)
      return entry.looked && now - entry.activeAt >= patienceMs
    }
    // All places of its handler are taken by some that wait: so does this one.
    const { handler } = entry.execution
    const same = [...this.#held.values()].filter((other) => other.began && other.execution.handler === handler)
    return same.length >= this.#options.concurrencyOf(handler) && same.every((other) => this.#waits(other, now))
  }

  /** What starts runs of graphs is no handler of the test. */
  #show(entry: Entry, startedAt: number): void {
    if (entry.shown || entry.execution.handler.startsWith(reservedPrefix)) return
    entry.shown = true
    entry.run.startedAt = new Date(startedAt)
    this.#runs.push(entry.run)
  }

  #end(entry: Entry, outcome: RunOutcome): void {
    entry.run.outcome = outcome
    entry.run.finishedAt = new Date(this.#options.clock.now())
    this.#drop(entry)
  }

  #drop(entry: Entry): void {
    this.#held.delete(keyOf(entry.execution))
    this.#touch()
  }

  #touch(): void {
    this.#changedAt = monotonicMs()
    this.#version++
    const waiters = this.#waiters
    this.#waiters = []
    for (const resolve of waiters) resolve()
  }
}

export function keyOf({ executionId, fence }: { executionId: string; fence: number }): string {
  return `${executionId}:${fence}`
}

function tooLong({ handler, executionId, attempt }: Run, settleMs: number): CarillonError {
  return new CarillonError('STATE_CONFLICT', {
    message: `the handler ${handler} has not ended after ${settleMs} ms of real time (execution ${executionId}, attempt ${attempt})`,
    hint: 'Let it await only what ends by itself; to wait for its timeout or a cancel it must look at ctx.signal. With a larger settleMs it gets longer',
  })
}
