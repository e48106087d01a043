/**
 * Decides about submissions with a dedupe key that were enqueued in SQL, after their caller's commit and in the order of the
 * calls, by the same rules and under the same lock as those that come over HTTP. A request is settled in the transaction that
 * creates what it asked for, so that two nodes never settle one twice. One that cannot be carried out is REFUSED with its error; the
 * others go on.
 */
import { type JobInput, priorities } from '@carillon/contract'
import { poolName } from '../domain/pool-key.ts'
import type { Logger } from '../observability/logger.ts'
import { type DedupeRequest, readDedupeRequests, settleDedupeRequest } from '../store/dedupes/requests.ts'
import { AnsweredBefore } from '../store/idempotency/answers.ts'
import { iso } from '../store/rows.ts'
import { isTransient } from '../store/trouble.ts'
import { submitDeduped } from './dedupe.ts'
import type { SubmissionsOptions } from './submissions.ts'

const batchSize = 100

export class DedupeSettler {
  readonly #options: SubmissionsOptions
  readonly #logger: Logger

  constructor(options: SubmissionsOptions & { logger: Logger }) {
    this.#options = options
    this.#logger = options.logger
  }

  /** Settles everything that is there. */
  async runOnce(): Promise<void> {
    for (;;) {
      const requests = await readDedupeRequests(this.#options.database, batchSize)
      for (const request of requests) await this.#settle(request)
      if (requests.length < batchSize) return
    }
  }

  async #settle(request: DedupeRequest): Promise<void> {
    const { database } = this.#options
    const { id, tenant, payload } = request
    try {
      const { dedupe } = await submitDeduped(this.#options, { tenant, actor: 'sql' }, inputOf(request), payload, {
        request: id,
      })
      if (dedupe?.verdict === 'KEPT')
        await settleDedupeRequest(database, id, { verdict: 'KEPT', executionId: dedupe.executionId })
    } catch (error) {
      if (error instanceof AnsweredBefore) return
      if (isTransient(error)) throw error
      this.#logger.warn({ err: error, requestId: id, tenant }, 'a submission enqueued in SQL was refused')
      await settleDedupeRequest(database, id, { verdict: 'REFUSED', error: String(error).slice(0, 1_000) })
    }
  }
}

function inputOf(request: DedupeRequest): JobInput {
  const { name, pool, lane, handler, runAt, policy, labels, traceparent, dedupe } = request
  return {
    ...policy,
    ...(name !== null && { name }),
    ...(labels !== null && { labels }),
    ...(traceparent !== null && { traceparent }),
    priority: priorities[lane],
    type: 'ONE_SHOT',
    runAt: iso(runAt),
    target: { pool: poolName(pool), handler },
    dedupe,
  } as JobInput
}
