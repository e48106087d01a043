/**
 * Receives the outcomes of attempts from all workers of this node and from its sweeper, in batches, and answers after the
 * commit. A success costs one call; a failure first reads the execution's policy.
 */

import { BatchLimit } from '../lib/batch-limit.ts'
import { Batcher } from '../lib/batcher.ts'
import type { Clock } from '../lib/clock.ts'
import { type Activity, noActivity } from '../observability/activity.ts'
import { LeasedWork } from '../observability/leased-work.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { defer } from '../store/executions/defer.ts'
import { type ExecutionRules, readRules } from '../store/executions/read-rules.ts'
import { type AttemptEnd, type AttemptVerdict, report } from '../store/executions/report.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { heldRow } from '../store/quarantine/set-aside.ts'
import { findUnusableHeld } from '../store/quarantine/stuck.ts'
import { wasTooSlow } from '../store/trouble.ts'
import { type AttemptReport, type Deferral, decide, type Ending, isDeferral, logOf, needsRules } from './decide.ts'
import { ReportTeller } from './report-teller.ts'

export interface CompletionOptions {
  database: Database
  signals: Signals
  clock: Clock
  isolation: Isolation
  /** Called after the commit with executions that may have gone DEAD, if their job cares; never with a success. */
  onDead?: (executionIds: string[]) => void
  /** Called after the commit with every execution that went DEAD. */
  onDeadLetters?: (letters: readonly Pick<AttemptEnd, 'executionId' | 'reason' | 'error'>[]) => void
  activity?: Activity
  /** What this node has leased. */
  leasedWork?: LeasedWork
  /** A number between 0 and 1, for jitter. */
  chance?: () => number
}

const maxBatch = 1_000

export class Completion {
  readonly #options: CompletionOptions
  readonly #batcher: Batcher<Ending, AttemptVerdict>
  readonly #deferrals: Batcher<Deferral, AttemptVerdict>
  readonly #limit = new BatchLimit(maxBatch)
  readonly #teller: ReportTeller
  /** Already quarantined: bisecting a batch meets them again. */
  readonly #unknown = new WeakSet<Ending>()

  constructor(options: CompletionOptions) {
    this.#options = options
    const { database, activity = noActivity, leasedWork = new LeasedWork() } = options
    this.#teller = new ReportTeller({ database, activity, leasedWork })
    this.#batcher = new Batcher({
      maxItems: () => this.#limit.current,
      concurrency: 2,
      flush: (endings) =>
        this.#limit.watch(() => this.#good('REPORT', endings, (part) => this.#flush(part)), wasTooSlow),
    })
    this.#deferrals = new Batcher({
      maxItems: () => maxBatch,
      flush: (told) => this.#good('DEFER', told, (part) => this.#defer(part)),
    })
  }

  /**
   * Resolves after the commit. REFUSED: the lease was another attempt's; BUSY: another transaction, a handler's own
   * perhaps, holds the execution at this moment. Nothing was changed then; the caller reports again.
   */
  end(told: AttemptReport): Promise<AttemptVerdict> {
    return isDeferral(told) ? this.#deferrals.add(told) : this.#batcher.add(told as Ending)
  }

  /** The same for several, answered in their order. */
  async endAll(told: readonly AttemptReport[]): Promise<AttemptVerdict[]> {
    if (!told.some(isDeferral)) return this.#batcher.addAll(told as readonly Ending[])
    return Promise.all(told.map((each) => this.end(each)))
  }

  async idle(): Promise<void> {
    await Promise.all([this.#batcher.idle(), this.#deferrals.idle()])
  }

  /** A lease without a ledger row can never end. */
  async #setAsideUnknown(endings: Ending[], rules: Map<string, ExecutionRules>): Promise<void> {
    const isUnknown = (ending: Ending) =>
      needsRules(ending) && !rules.has(ending.executionId) && !this.#unknown.has(ending)
    const unknown = endings.filter(isUnknown)
    for (const ending of unknown) this.#unknown.add(ending)
    const why = { code: 'NO_LEDGER_ROW', message: 'the ledger has no such execution' }
    await this.#options.isolation.setAside(
      'REPORT',
      unknown.map((item) => ({ item, row: { ...heldRow(item), ...why } })),
    )
  }

  /** Quarantines what makes a batch fail and answers REFUSED: its worker drops it. */
  async #good<T extends AttemptReport>(
    call: string,
    told: T[],
    work: (told: T[]) => Promise<AttemptVerdict[]>,
  ): Promise<AttemptVerdict[]> {
    const { done, left, stoppedBy } = await this.#options.isolation.run(call, told, work, heldRow, {
      find: (each) => findUnusableHeld(this.#options.database, each),
      idOf: ({ executionId }) => executionId,
    })
    if (stoppedBy && left.length === told.length) throw stoppedBy.error
    const verdicts = new Map<T, AttemptVerdict>()
    for (const { items, answer } of done) for (const [i, item] of items.entries()) verdicts.set(item, answer[i]!)
    // Not tried: the worker reports it again.
    for (const each of left) verdicts.set(each, 'BUSY')
    return told.map((each) => verdicts.get(each) ?? 'REFUSED')
  }

  async #defer(told: Deferral[]): Promise<AttemptVerdict[]> {
    const one = new Map(told.map((each): [string, Deferral] => [each.executionId, each]))
    const deferrals = [...one.values()].map(({ executionId, fence, actor, said }) => {
      return { executionId, fence, actor, startedAt: said.startedAt, log: logOf(said) }
    })
    const verdicts = await defer(this.#options.database, deferrals)
    const verdictOf = new Map(deferrals.map(({ executionId }, at) => [executionId, verdicts[at]!]))
    return told.map((each) => (one.get(each.executionId) === each ? verdictOf.get(each.executionId)! : 'BUSY'))
  }

  async #flush(endings: Ending[]): Promise<AttemptVerdict[]> {
    const { database, clock, signals, chance = Math.random } = this.#options
    const questions = endings.filter(needsRules).map((ending) => ending.executionId)
    const rules = questions.length === 0 ? null : await readRules(database, questions)
    if (rules !== null && rules.size < questions.length) await this.#setAsideUnknown(endings, rules)
    const now = clock.now()
    const last = new Map<string, Ending>()
    for (const ending of endings) last.set(ending.executionId, ending)
    const isLast = (ending: Ending) => last.get(ending.executionId) === ending
    const told = last.size === endings.length ? endings : endings.filter(isLast)
    const decided = told.map((ending) => decide(ending, rules?.get(ending.executionId) ?? null, now, chance()))
    const answer = await report(database, decided)
    this.#tellDead(decided, answer.verdicts)
    this.#teller.reported(told, decided, answer, clock.now())
    // An id that is named twice (a repeated report) is BUSY but for the last time.
    let next = 0
    const verdicts =
      told === endings ? answer.verdicts : endings.map((each) => (isLast(each) ? answer.verdicts[next++]! : 'BUSY'))
    if (answer.retryDue !== null) signals.publish({ kind: 'DUE', at: Math.max(answer.retryDue, clock.now()) })
    if (answer.released.length > 0) signals.publish({ kind: 'RELEASED', shards: answer.released })
    if (answer.ended.length > 0) signals.publish({ kind: 'ENDED', executionIds: answer.ended })
    const matter = endings.filter((ending) => mayMatter(ending, rules)).map((ending) => ending.executionId)
    if (matter.length > 0) {
      const ended = new Set(answer.ended)
      this.#options.onDead?.(matter.filter((id) => ended.has(id)))
    }
    return verdicts
  }

  #tellDead(decided: readonly AttemptEnd[], verdicts: readonly AttemptVerdict[]): void {
    const { onDeadLetters } = this.#options
    if (onDeadLetters === undefined) return
    const dead = decided.filter(({ next }, at) => next === 'DEAD' && verdicts[at] === 'ACCEPTED')
    if (dead.length > 0) onDeadLetters(dead)
  }
}

/** Whether an ending may be a dead letter that its job wants to know of. Without rules it is a cancel, perhaps a deadline's. */
function mayMatter({ executionId, said }: Ending, rules: Map<string, ExecutionRules> | null): boolean {
  if (said.outcome === 'CANCELLED') return true
  return said.outcome !== 'SUCCEEDED' && rules?.get(executionId)?.policy.pauseAfterFailures != null
}
