/** Carillon on a clock that a test sets: the same calls as a Carillon in production, and those that move the time. */
import { CarillonError, checkOptions } from '@carillon/contract'
import {
  type CallAnswer,
  type CallInput,
  definitionOf,
  type ExecutionHandle,
  type HandlerOf,
  type OperationId,
  type RegisteredHandler,
} from '@carillon/sdk'
import type { ExecutionView } from '../executions/view.ts'
import type { JobView } from '../jobs/view.ts'
import { CarillonCalls, type CreateJobInput, type EnqueueOptions, type ScheduleOptions } from '../library/calls.ts'
import type { Engine } from '../main.ts'
import type { CrashPoint, Faults, HandlerName } from './faults.ts'
import type { Run, RunLog } from './run-log.ts'
import type { Settling } from './settling.ts'
import { type DurationInput, type InstantInput, instantAfter, instantOf } from './time.ts'
import { requireHandler, requireStepHandlers } from './watched-handlers.ts'

export interface TestCarillonParts {
  engine: Engine
  tenant: string | undefined
  databaseUrl: string
  handlers: readonly RegisteredHandler[]
  log: RunLog
  faults: Faults
  settling: Settling
  /** Sets the clock, here and in the database. */
  setTime: (at: number) => Promise<void>
  close: () => Promise<void>
}

export class TestCarillon extends CarillonCalls {
  readonly #parts: TestCarillonParts
  /** In which order jobs were created: of those that are due at the same instant the older one is shown first. */
  readonly #born = new Map<string, number>()
  #moving = false
  #closed: Promise<void> | null = null

  /** Use `createTestCarillon`. */
  constructor(parts: TestCarillonParts) {
    super(parts.engine, parts.tenant)
    this.#parts = parts
  }

  /** Of the test's own database, for handlers that work in it. */
  get databaseUrl(): string {
    return this.#parts.databaseUrl
  }

  /** The time, which stands still but for `advance`, `advanceTo` and `outage`. Handlers see the same by `ctx.now()`. */
  now(): Date {
    return new Date(this.engine.clock.now())
  }

  /**
   * Lets time pass, from one instant at which something is due to the next, and resolves when everything has been done that
   * was due by then.
   */
  advance(duration: DurationInput): Promise<void> {
    return this.#move(() => this.#walk(instantAfter(this.engine.clock.now(), duration)))
  }

  /** As `advance`, up to an instant. */
  advanceTo(instant: InstantInput): Promise<void> {
    return this.#move(() => this.#walk(this.#later(instant)))
  }

  /** Does everything that is due now, until nothing is left; no time passes, so a retry that is due later stays. */
  async drain(): Promise<void> {
    await this.#move(() => this.#parts.settling.settle())
  }

  /** Time passes while the whole installation is down. What was due meanwhile is late, or a misfire. */
  outage(duration: DurationInput): Promise<void> {
    return this.#move(async () => {
      const { settling, setTime } = this.#parts
      const until = instantAfter(this.engine.clock.now(), duration)
      await settling.settle()
      await setTime(until)
      await settling.settle()
    })
  }

  /**
   * Every attempt that began, by time; of one instant, first what was due first, then what was created first; then steps of
   * graphs, in the order of their graph.
   */
  runs(options: { handler?: HandlerName } = {}): Run[] {
    checkOptions(options, ['handler'])
    const { log, faults } = this.#parts
    const name = options.handler === undefined ? null : faults.nameOf(options.handler)
    const order = ({ jobId }: Run) => this.#born.get(jobId) ?? Number.POSITIVE_INFINITY
    return log.runs
      .filter(({ handler }) => name === null || handler === name)
      .sort(
        (a, b) =>
          a.startedAt.getTime() - b.startedAt.getTime() ||
          a.dueAt.getTime() - b.dueAt.getTime() ||
          compare(order(a), order(b)) ||
          compare(a.executionId, b.executionId) ||
          a.attempt - b.attempt,
      )
      .map((run) => ({ ...run }))
  }

  /**
   * The worker that gets the next execution (of a handler, if one is named) dies with it: no outcome is reported. Once
   * the worker is taken for lost, 30 s later, the execution follows its retry policy.
   */
  crash(point: CrashPoint, options: { handler?: HandlerName } = {}): void {
    this.#open()
    checkOptions(options, ['handler'])
    this.#parts.faults.crash(point, options.handler)
  }

  /**
   * The next execution (of a handler, if one is named) reaches the handler twice: the second time under its old fence, after
   * the first has ended. What that one says is refused, and its `completeIn` throws.
   */
  deliverTwice(options: { handler?: HandlerName } = {}): void {
    this.#open()
    checkOptions(options, ['handler'])
    this.#parts.faults.deliverTwice(options.handler)
  }

  override async call<Id extends OperationId>(
    operation: Id,
    input: CallInput<Id>,
    options: { tenant?: string } = {},
  ): Promise<CallAnswer<Id>> {
    requireStepHandlers(this.#parts.handlers, input)
    return super.call(operation, input, options)
  }

  override async createJob(input: CreateJobInput): Promise<JobView> {
    const { target } = input
    if (target?.handler !== undefined) requireHandler(this.#parts.handlers, target.handler, '/target/handler')
    return this.#noteJob(await super.createJob(input))
  }

  override async schedule<Input, Payload, Returned, Result>(
    handler: HandlerOf<Input, Payload, Returned, Result>,
    payload: NoInfer<Input>,
    options: ScheduleOptions,
  ): Promise<JobView> {
    requireHandler(this.#parts.handlers, definitionOf(handler).name, '/definition')
    return this.#noteJob(await super.schedule(handler, payload, options))
  }

  override async enqueue<Input, Payload, Returned, Result>(
    handler: HandlerOf<Input, Payload, Returned, Result>,
    payload: NoInfer<Input>,
    options: EnqueueOptions = {},
  ): Promise<ExecutionHandle<Result, ExecutionView>> {
    requireHandler(this.#parts.handlers, definitionOf(handler).name, '/definition')
    const handle = await super.enqueue(handler, payload, options)
    this.#note(handle.executionId)
    return handle
  }

  override async enqueueMany<Input, Payload, Returned, Result>(
    handler: HandlerOf<Input, Payload, Returned, Result>,
    payloads: readonly NoInfer<Input>[],
    options: Omit<EnqueueOptions, 'tx' | 'runAt' | 'delayMs' | 'dedupe'> = {},
  ): Promise<ExecutionHandle<Result, ExecutionView>[]> {
    requireHandler(this.#parts.handlers, definitionOf(handler).name, '/definition')
    const handles = await super.enqueueMany(handler, payloads, options)
    for (const { executionId } of handles) this.#note(executionId)
    return handles
  }

  /** Stops everything and removes the database. May be called again. */
  close(): Promise<void> {
    this.#closed ??= this.#parts.close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  protected override get engine(): Engine {
    this.#open()
    return super.engine
  }

  async #walk(until: number): Promise<void> {
    const { settling, setTime } = this.#parts
    for (;;) {
      const next = await settling.settle()
      const now = this.engine.clock.now()
      if (now >= until) return
      await setTime(next === null ? until : Math.min(Math.max(next, now), until))
    }
  }

  #later(instant: InstantInput): number {
    const at = instantOf(instant, '/instant')
    if (at >= this.engine.clock.now()) return at
    throw new CarillonError('VALIDATION', {
      pointer: '/instant',
      message: `${new Date(at).toISOString()} lies before now, ${this.now().toISOString()}: time does not run backwards`,
      hint: 'Create another test Carillon for an earlier time',
    })
  }

  async #move(how: () => Promise<unknown>): Promise<void> {
    this.#open()
    if (this.#moving) {
      throw new CarillonError('STATE_CONFLICT', {
        message: 'time is being moved already',
        hint: 'Await advance, advanceTo, drain and outage one after the other, and not inside a handler',
      })
    }
    this.#moving = true
    try {
      await how()
    } finally {
      this.#moving = false
    }
  }

  #open(): void {
    if (this.#closed === null) return
    throw new CarillonError('STATE_CONFLICT', {
      message: 'this test Carillon is closed',
      hint: 'Await everything before the end of the block with `await using`, or before close()',
    })
  }

  #noteJob(job: JobView): JobView {
    this.#note(job.jobId)
    return job
  }

  #note(jobId: string): void {
    if (!this.#born.has(jobId)) this.#born.set(jobId, this.#born.size)
  }
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}
