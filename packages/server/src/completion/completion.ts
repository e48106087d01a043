/**
 * Takes over how attempts ended, from all workers of this node and from its own sweeper, in batches, and answers after the
 * commit. A success costs one call; a failure first reads the execution's policy.
 */

import { Batcher } from '../lib/batcher.ts'
import type { Clock } from '../lib/clock.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { readRules } from '../store/executions/read-rules.ts'
import { type AttemptEnd, type AttemptVerdict, report } from '../store/executions/report.ts'
import { decide, type Ending, needsRules } from './decide.ts'

export interface CompletionOptions {
  database: Database
  signals: Signals
  clock: Clock
  /** A number between 0 and 1, for jitter. */
  chance?: () => number
}

export type Verdict = Exclude<AttemptVerdict, 'BUSY'>

const maxBatch = 1_000
const busyRounds = 200

export class Completion {
  readonly #options: CompletionOptions
  readonly #batcher: Batcher<Ending, Verdict>

  constructor(options: CompletionOptions) {
    this.#options = options
    this.#batcher = new Batcher({ maxItems: maxBatch, concurrency: 2, flush: (endings) => this.#flush(endings) })
  }

  /** Resolves after the commit. REFUSED: the lease was another attempt's; nothing was changed. */
  end(ending: Ending): Promise<Verdict> {
    return this.#batcher.add(ending)
  }

  idle(): Promise<void> {
    return this.#batcher.idle()
  }

  async #flush(endings: Ending[]): Promise<Verdict[]> {
    const { database, clock, chance = Math.random } = this.#options
    const questions = endings.filter(needsRules).map((ending) => ending.executionId)
    const rules = questions.length === 0 ? null : await readRules(database, questions)
    const now = clock.now()
    const ends = endings.map((ending) => decide(ending, rules?.get(ending.executionId) ?? null, now, chance()))
    const verdicts = new Array<Verdict>(ends.length)
    let left = ends.map((_, i) => i)
    for (let round = 0; left.length > 0; round++) {
      if (round > busyRounds) throw new Error('executions stay locked by another transaction')
      left = await this.#report(ends, left, verdicts)
    }
    return verdicts
  }

  /** Reports those at `indexes`; answers the indexes to report again. */
  async #report(ends: AttemptEnd[], indexes: number[], verdicts: Verdict[]): Promise<number[]> {
    const { signals, clock } = this.#options
    // An id that is named twice (a repeated report) goes into the next round.
    const seen = new Set<string>()
    const now: number[] = []
    const again: number[] = []
    for (const i of indexes) {
      if (seen.has(ends[i]!.executionId)) again.push(i)
      else now.push(i)
      seen.add(ends[i]!.executionId)
    }
    const answer = await report(
      this.#options.database,
      now.map((i) => ends[i]!),
    )
    answer.verdicts.forEach((verdict, n) => {
      if (verdict === 'BUSY') again.push(now[n]!)
      else verdicts[now[n]!] = verdict
    })
    if (answer.retryDue !== null) signals.publish({ kind: 'DUE', at: Math.max(answer.retryDue, clock.now()) })
    if (answer.ended.length > 0) signals.publish({ kind: 'ENDED', executionIds: answer.ended })
    // Somebody holds the row: leave it a moment rather than ask again at once.
    if (again.length > 0 && again.length === indexes.length) await new Promise((resolve) => setTimeout(resolve, 5))
    return again
  }
}
