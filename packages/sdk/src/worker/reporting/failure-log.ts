/**
 * Logs failed attempts, so that a throwing handler shows without a look at the ledger. Bounded: of many in one second the
 * first are named and the rest counted.
 */
import type { Clock, Logger } from '@carillon/contract/process'
import type { Held } from '../held.ts'
import type { ReportedOutcome } from '../transport.ts'

const namedInASecond = 20

export class FailureLog {
  readonly #clock: Clock
  readonly #logger: Logger
  #second = 0
  #named = 0
  #unnamed = 0

  constructor({ clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
  }

  ended({ execution }: Held, outcome: ReportedOutcome): void {
    if (outcome.outcome !== 'FAILED' && outcome.outcome !== 'TIMED_OUT') return
    const { executionId, handler, attempt } = execution
    const fields = { handler, executionId, attempt, error: outcome.error }
    if (outcome.outcome === 'FAILED' && outcome.retryAfterMs !== undefined) {
      this.#logger.info({ ...fields, retryAfterMs: outcome.retryAfterMs }, 'a handler asked for a later retry')
    } else if (this.#mayName()) {
      this.#logger.warn(fields, outcome.outcome === 'FAILED' ? 'an attempt failed' : 'an attempt timed out')
    }
  }

  #mayName(): boolean {
    const second = Math.floor(this.#clock.now() / 1_000)
    if (second !== this.#second) {
      if (this.#unnamed > 0) this.#logger.warn({ attempts: this.#unnamed }, 'more attempts failed within one second')
      this.#second = second
      this.#named = 0
      this.#unnamed = 0
    }
    if (this.#named >= namedInASecond) this.#unnamed++
    else this.#named++
    return this.#unnamed === 0
  }
}
