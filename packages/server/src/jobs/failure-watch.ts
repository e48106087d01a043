/**
 * Pauses jobs that fail again and again, if they ask for it (`pauseAfterFailures`). Told which executions went DEAD, it
 * looks at the newest ones of their jobs. What it misses (a node that ends right then) the next dead letter catches;
 * a report never waits for it, nor fails because of it.
 */
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { readFailing } from '../store/jobs/failing.ts'
import type { Jobs } from './jobs.ts'

export class FailureWatch {
  readonly #options: { database: Database; jobs: Jobs; logger: Logger }
  #died: string[] = []
  #looking: Promise<void> | null = null

  constructor(options: { database: Database; jobs: Jobs; logger: Logger }) {
    this.#options = options
  }

  died(executionIds: readonly string[]): void {
    this.#died.push(...executionIds)
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
  }

  async idle(): Promise<void> {
    await this.#looking
  }

  async #look(): Promise<void> {
    const { database, jobs, logger } = this.#options
    while (this.#died.length > 0) {
      const ids = this.#died
      this.#died = []
      try {
        for (const { tenant, jobId, failures } of await readFailing(database, ids)) {
          await jobs.pause(tenant, jobId, { actor: 'carillon', detail: { reason: 'FAILURES', failures } })
          logger.warn({ tenant, jobId, failures }, 'a job was paused after dead letters in a row')
        }
      } catch (error) {
        logger.warn({ err: error }, 'failing jobs could not be checked; the next dead letter triggers another check')
      }
    }
  }
}
