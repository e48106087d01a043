/**
 * Reports outcomes, starts, progress, log lines and heartbeats. What must stay true:
 *
 * - At most one report is under way. What comes meanwhile goes with the next, so under load the batches grow by
 *   themselves and an idle worker reports at once.
 * - A report that was not answered is sent again, with the same outcomes, until it is answered. No outcome is dropped.
 *   One that is refused for its content is bisected so that only the bad outcome fails.
 * - Everything held is named in a heartbeat or is in the outcomes of that same report.
 * - An outcome brings all log lines of its attempt. Those that are sent before it are a copy, so that they are read early and
 *   survive the worker: whatever becomes of one, nothing is missing in the end. What ends within `logEveryMs` sends none.
 */

import { CarillonError } from '@carillon/contract'
import { Backoff, type Clock, type Logger } from '@carillon/contract/process'
import type { ServerClock } from '../../clock.ts'
import { pause } from '../../pause.ts'
import type { Held, HeldTable } from '../held.ts'
import type { Cancellation, HeldExecution, ReportAnswer, Transport } from '../transport.ts'
import { type ReportBatch, ReportQueue } from './report-queue.ts'
import { finalFailure } from './reported-error.ts'

const progressEveryMs = 1_000
/** After a node refused a report with log lines, as one of an earlier version does, none are sent for this time. */
const withoutLinesMs = 60_000
/** Delay before an outcome is reported again that met a locked row. */
const busyPauseMs = 50

export interface ReporterOptions {
  transport: Transport
  workerId: string
  clock: Clock
  serverClock: ServerClock
  table: HeldTable
  logger: Logger
  onCancellation(cancellation: Cancellation): void
  onLost(lost: HeldExecution): void
  onStartDecided(held: Held, accepted: boolean): void
  /** A report was answered: what waited for reports to go through, or for their backlog to shrink, may go on. */
  onAnswered(): void
}

export class Reporter {
  readonly #options: ReporterOptions
  readonly #queue = new ReportQueue()
  readonly #backoff = new Backoff()
  readonly #closing = new AbortController()
  #busy = false
  #finishing = false
  #failing = false
  #heartbeatDue = false
  #progressDue = false
  #linesDue = false
  #logEveryMs: number | null = null
  #noLinesUntil = Number.NEGATIVE_INFINITY
  #refused = 0
  #roundTripMs = 0
  #answeredAt: number | null = null
  #beat: NodeJS.Timeout | null = null
  #progressTimer: NodeJS.Timeout | null = null
  #linesTimer: NodeJS.Timeout | null = null
  #idleWaiters: (() => void)[] = []

  constructor(options: ReporterOptions) {
    this.#options = options
  }

  /** The last report was not answered. */
  get failing(): boolean {
    return this.#failing
  }

  /** Outcomes that were refused because the lease was lost. */
  get refused(): number {
    return this.#refused
  }

  /** What an answer takes at present. */
  get roundTripMs(): number {
    return this.#roundTripMs
  }

  /** When a report was answered last, on the local clock. */
  get answeredAt(): number | null {
    return this.#answeredAt
  }

  /** Outcomes that wait for the next report. */
  get backlog(): number {
    return this.#queue.outcomes
  }

  /** Without `logEveryMs` the node takes log lines with the outcome only. */
  start({ reportEveryMs, logEveryMs }: { reportEveryMs: number; logEveryMs?: number | undefined }): void {
    this.#logEveryMs = logEveryMs ?? null
    this.#beat = setInterval(() => {
      this.#heartbeatDue = true
      this.#kick()
    }, reportEveryMs)
  }

  outcome(held: Held): void {
    this.#queue.addOutcome(held)
    this.#kick()
  }

  /** Reports that a handler has begun, or asks whether it may begin if its start has to be announced. */
  began(held: Held): void {
    this.#queue.addBegan(held)
    this.#kick()
  }

  /** Sends the newest progress of an execution with the next report, or within a second. */
  progress(held: Held): void {
    this.#queue.addProgress(held)
    if (this.#progressTimer === null && !this.#finishing) this.#sendProgress()
  }

  /** Sends what an execution has logged in a while, unless it has ended by then. */
  logged(held: Held): void {
    if (this.#logEveryMs === null) return
    this.#queue.addLogged(held)
    if (this.#linesTimer === null && !this.#finishing) this.#sendLinesLater(this.#logEveryMs)
  }

  /** No more heartbeats; resolves when every outcome was answered and no report is under way, or on `close`. */
  finish(): Promise<void> {
    this.#stopTimers()
    if (!this.#busy) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  /** Stops for good; what was not answered by then is given up. */
  close(): void {
    this.#closing.abort()
    this.#stopTimers()
    this.#resolveIdle()
  }

  #stopTimers(): void {
    this.#finishing = true
    if (this.#beat !== null) clearInterval(this.#beat)
    if (this.#progressTimer !== null) clearTimeout(this.#progressTimer)
    if (this.#linesTimer !== null) clearTimeout(this.#linesTimer)
  }

  #kick(): void {
    if (this.#busy || this.#closing.signal.aborted) return
    this.#busy = true
    // A turn of the event loop: everything that ends in this turn goes into one report.
    setImmediate(() => void this.#flush())
  }

  #sendProgress(): void {
    this.#progressDue = true
    this.#progressTimer = setTimeout(() => {
      this.#progressTimer = null
      if (this.#queue.hasProgress) this.#sendProgress()
    }, progressEveryMs)
    this.#kick()
  }

  #sendLinesLater(logEveryMs: number): void {
    this.#linesTimer = setTimeout(() => {
      this.#linesTimer = null
      if (!this.#queue.hasLines) return
      if (this.#options.clock.now() >= this.#noLinesUntil) {
        this.#linesDue = true
        this.#kick()
      }
      this.#sendLinesLater(logEveryMs)
    }, logEveryMs)
  }

  async #flush(): Promise<void> {
    const batch = this.#queue.take()
    while (!this.#closing.signal.aborted) {
      const answer = await this.#send(batch)
      if (answer === 'REFUSED') break
      if (answer !== null) {
        if (this.#answered(batch, answer) > 0) await pause(busyPauseMs, this.#closing.signal)
        break
      }
      await pause(this.#backoff.nextMs(), this.#closing.signal)
    }
    this.#busy = false
    const signsOfLife = !this.#finishing && (this.#heartbeatDue || this.#progressDue || this.#linesDue)
    if (this.#queue.outcomes > 0 || this.#queue.began > 0 || signsOfLife) this.#kick()
    else this.#resolveIdle()
  }

  /** Null if there was no answer. Whether it arrived is then unknown, so the same outcomes are sent again. */
  async #send(batch: ReportBatch): Promise<ReportAnswer | 'REFUSED' | null> {
    const heartbeat = this.#heartbeatDue
    const progress = this.#queue.takeProgress()
    const logged = this.#linesDue ? this.#queue.takeLines() : []
    const sentAt = this.#options.clock.now()
    this.#heartbeatDue = false
    this.#progressDue = false
    this.#linesDue = false
    try {
      const answer = await this.#options.transport.report({
        workerId: this.#options.workerId,
        outcomes: batch.outcomes.map((held) => held.outcome!),
        began: batch.began.map((held) => held.key),
        progress: progress.map((held) => ({ ...held.key, progress: held.progress })),
        ...(logged.length > 0 && { lines: logged.map(({ lines }) => lines) }),
        held: heartbeat ? this.#heldNow() : null,
      })
      this.#linesAnswered(logged, answer.lines ?? [])
      this.#roundTripMs += (this.#options.clock.now() - sentAt - this.#roundTripMs) / 4
      return answer
    } catch (error) {
      this.#heartbeatDue ||= heartbeat
      for (const held of progress) this.#queue.addProgress(held)
      for (const { held } of logged) this.logged(held)
      if (isRefusal(error) && logged.length > 0) {
        this.#noLinesUntil = this.#options.clock.now() + withoutLinesMs
        return this.#send(batch)
      }
      if (isRefusal(error) && batch.outcomes.length > 0) {
        this.#takeApart(batch, error)
        return 'REFUSED'
      }
      if (!this.#failing) {
        this.#options.logger.warn(
          { error, outcomes: batch.outcomes.length },
          'a report was not answered; it is repeated',
        )
      }
      this.#failing = true
      return null
    }
  }

  #linesAnswered(logged: { held: Held }[], stored: (number | null)[]): void {
    for (const [at, { held }] of logged.entries()) {
      const { lines } = held.logged!
      held.logged!.stored = Math.min(stored[at] ?? held.logged!.stored, lines.length)
      if (held.logged!.stored < lines.length && held.state === 'RUNNING') this.logged(held)
    }
  }

  #takeApart(batch: ReportBatch, error: CarillonError): void {
    const blamed = this.#queue.refused(batch)
    if (blamed === null) return
    const { executionId, fence, startedAt, finishedAt, ...said } = blamed.outcome!
    const name = `REPORT_${error.code}`
    this.#options.logger.error(
      { error, executionId, fence, outcome: said.outcome },
      'an outcome was refused for its content',
    )
    if (said.outcome === 'FAILED' && said.error.name === name) {
      this.#queue.giveUp(blamed)
      this.#options.table.remove(blamed)
      return
    }
    const failure = finalFailure(name, `The installation did not take ${said.outcome}: ${error.message}`)
    blamed.outcome = { executionId, fence, startedAt, finishedAt, outcome: 'FAILED', ...failure }
  }

  #heldNow(): HeldExecution[] {
    const named: HeldExecution[] = []
    for (const held of this.#options.table.values()) if (!held.sent) named.push(held.key)
    return named
  }

  /** Returns how many outcomes have to be reported again. */
  #answered({ outcomes, began }: ReportBatch, answer: ReportAnswer): number {
    const { serverClock, table, logger } = this.#options
    let busy = 0
    serverClock.observe(answer.serverTime)
    this.#answeredAt = this.#options.clock.now()
    this.#queue.accepted()
    outcomes.forEach((held, at) => {
      if (answer.outcomes[at] === 'BUSY') {
        busy++
        held.sent = false
        this.#queue.addOutcome(held)
        return
      }
      if (answer.outcomes[at] === 'REFUSED') {
        this.#refused++
        const { executionId, fence } = held.execution
        logger.warn(
          { executionId, fence, outcome: held.outcome!.outcome },
          'an outcome was refused: its lease was lost, or another outcome had been reported under it',
        )
      }
      table.remove(held)
    })
    began.forEach((held, at) => {
      this.#options.onStartDecided(held, answer.began[at] !== 'REFUSED')
    })
    for (const cancellation of answer.cancellations) this.#options.onCancellation(cancellation)
    for (const lost of answer.lost) this.#options.onLost(lost)
    this.#backoff.reset()
    this.#failing = false
    this.#options.onAnswered()
    return busy
  }

  #resolveIdle(): void {
    const waiters = this.#idleWaiters
    this.#idleWaiters = []
    for (const resolve of waiters) resolve()
  }
}

/** Refused for its content, not for the moment. */
function isRefusal(error: unknown): error is CarillonError {
  return error instanceof CarillonError && [400, 413, 422].includes(error.status)
}
