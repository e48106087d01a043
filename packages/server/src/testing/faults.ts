/**
 * Faults that a test asks for: a worker that dies with an execution, and a delivery that comes a
 * second time. Each happens to one execution; everything else in the test goes on. The one that is struck is held, by the
 * database's record, by a worker of its own, so that its loss and its stale report are handled like any other.
 */
import { randomUUID } from 'node:crypto'
import { CarillonError, type LeasedExecution } from '@carillon/contract'
import type { RegisteredHandler, WorkerReport } from '@carillon/sdk'
import type { Engine } from '../main.ts'
import { giveLease } from './due-work.ts'
import { type Entry, keyOf, type RunLog } from './run-log.ts'
import type { SpareWorkers } from './spare-workers.ts'
import { requireHandler } from './watched-handlers.ts'

/**
 * Where the worker dies. BEFORE_COMMIT: nothing of the handler's work is done, it does not begin. AT_COMMIT: it runs up to
 * `ctx.completeIn`, which throws, so that its transaction rolls back. AFTER_COMMIT: all its work is done; only the outcome is lost.
 */
export type CrashPoint = 'BEFORE_COMMIT' | 'AT_COMMIT' | 'AFTER_COMMIT'
const points: readonly CrashPoint[] = ['BEFORE_COMMIT', 'AT_COMMIT', 'AFTER_COMMIT']

/** A handler, by itself, by its definition or by name. */
export type HandlerName = string | { readonly name: string } | { readonly definition: { readonly name: string } }

interface Armed {
  fault: CrashPoint | 'TWICE'
  /** Null: whichever comes next. */
  handler: string | null
}

export interface FaultsOptions {
  engine: Engine
  log: RunLog
  handlers: readonly RegisteredHandler[]
  spares: SpareWorkers
}

export class Faults {
  readonly #options: FaultsOptions
  readonly #armed: Armed[] = []
  /** Leases that will be delivered once another attempt has had its turn. */
  readonly #stale: LeasedExecution[] = []
  readonly #dieAtCommit = new Set<string>()
  #misused: CarillonError | null = null

  constructor(options: FaultsOptions) {
    this.#options = options
  }

  crash(point: CrashPoint, handler: HandlerName | undefined): void {
    if (!points.includes(point)) {
      const hint = `Use one of ${points.join(', ')}`
      throw new CarillonError('VALIDATION', { pointer: '/point', message: `${String(point)} is not known`, hint })
    }
    this.#arm(point, handler)
  }

  deliverTwice(handler: HandlerName | undefined): void {
    this.#arm('TWICE', handler)
  }

  /** Throws if the test has no such handler. */
  nameOf(handler: HandlerName): string {
    const name =
      typeof handler === 'string' ? handler : 'definition' in handler ? handler.definition.name : handler.name
    requireHandler(this.#options.handlers, name, '/handler')
    return name
  }

  /** True: something happens to this lease; it must not reach the worker that asked for it. */
  async strikes(lease: LeasedExecution): Promise<boolean> {
    const at = this.#armed.findIndex(({ handler }) => handler === null || handler === lease.handler)
    if (at < 0) return false
    const [{ fault }] = this.#armed.splice(at, 1) as [Armed]
    if (fault === 'TWICE') await this.#handBack(lease)
    else await this.#crash(lease, fault)
    return true
  }

  diesAtCommit(entry: Entry): boolean {
    return this.#dieAtCommit.delete(keyOf(entry.execution))
  }

  /** Makes the deliveries whose time has come. True: there was one. Throws if a fault could not happen as it was meant. */
  next(): boolean {
    if (this.#misused) {
      const error = this.#misused
      this.#misused = null
      throw error
    }
    const { engine, log, spares } = this.#options
    const isOver = ({ executionId, fence }: LeasedExecution) =>
      log.runs.some((run) => run.executionId === executionId && run.fence > fence && run.outcome !== 'RUNNING')
    const at = this.#stale.findIndex(isOver)
    if (at < 0) return false
    const [lease] = this.#stale.splice(at, 1) as [LeasedExecution]
    log.leased(lease)
    spares.run(lease, async (report) => {
      const answer = await engine.workerSessions.report(report)
      for (const [i, said] of report.outcomes.entries()) log.reported(said, answer.outcomes[i]!, null)
      for (const [i, key] of report.began.entries()) if (answer.began[i] === 'REFUSED') log.notStarted(key)
      return answer
    })
    return true
  }

  #arm(fault: Armed['fault'], handler: HandlerName | undefined): void {
    this.#armed.push({ fault, handler: handler === undefined ? null : this.nameOf(handler) })
  }

  async #handBack(lease: LeasedExecution): Promise<void> {
    const { executionId, fence } = lease
    const said = { outcome: 'HANDED_BACK', reason: 'UNDELIVERED', began: false } as const
    this.#stale.push(lease)
    await this.#options.engine.completion.end({ executionId, fence, actor: 'node', from: 'NODE', said })
  }

  async #crash(lease: LeasedExecution, point: CrashPoint): Promise<void> {
    const { engine, log, spares } = this.#options
    const entry = log.leased(lease)
    await giveLease(engine.database, lease, randomUUID())
    if (point === 'BEFORE_COMMIT') return log.crashed(entry)
    if (point === 'AT_COMMIT') this.#dieAtCommit.add(keyOf(lease))
    spares.run(lease, (report) => this.#unheard(report, entry, point))
  }

  /** Its progress arrives, its outcome does not. */
  async #unheard(report: WorkerReport, entry: Entry, point: CrashPoint) {
    const { engine, log } = this.#options
    const answer = await engine.workerSessions.report({ ...report, outcomes: [], held: null })
    for (const said of report.outcomes) {
      if (point === 'AT_COMMIT' && said.outcome === 'SUCCEEDED') this.#misused = noCommit(entry)
      log.crashed(entry)
    }
    return { ...answer, outcomes: report.outcomes.map(() => 'ACCEPTED' as const) }
  }
}

function noCommit({ execution }: Entry): CarillonError {
  return new CarillonError('VALIDATION', {
    pointer: '/point',
    message: `the handler ${execution.handler} ended without ctx.completeIn: there was no commit to die at`,
    hint: 'Use BEFORE_COMMIT or AFTER_COMMIT',
  })
}
