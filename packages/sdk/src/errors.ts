/** What a handler can throw to say more than "failed", and what it finds in `signal.reason`. */

const retryLater = Symbol.for('carillon.retryLater')
const permanent = Symbol.for('carillon.permanent')
const deferred = Symbol.for('carillon.deferred')

/**
 * Throw it to have the execution tried again after `retryAfterMs` instead of the retry policy's delay.
 *
 * @example
 * ```ts
 * import { RetryLater } from '@carillon/sdk'
 *
 * async function send(): Promise<void> {
 *   const answer = await fetch('https://mail.example/send', { method: 'POST' })
 *   if (answer.status === 429) throw new RetryLater(30_000, 'The mail service asks us to slow down')
 * }
 * ```
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  readonly [retryLater] = true
  readonly retryAfterMs: number

  constructor(retryAfterMs: number, message = `Asked to be tried again in ${retryAfterMs} ms`, options?: ErrorOptions) {
    super(message, options)
    if (!Number.isFinite(retryAfterMs) || retryAfterMs < 0) {
      throw new RangeError(`RetryLater needs milliseconds that are not negative, not ${retryAfterMs}`)
    }
    this.retryAfterMs = Math.ceil(retryAfterMs)
  }
}

/**
 * Throw it when trying again cannot help: the execution becomes a dead letter at once.
 *
 * @example
 * ```ts
 * import { PermanentError } from '@carillon/sdk'
 *
 * function check(order: { items: string[] }): void {
 *   if (order.items.length === 0) throw new PermanentError('The order is empty')
 * }
 * ```
 */
export class PermanentError extends Error {
  override readonly name: string = 'PermanentError'
  readonly [permanent] = true
}

/**
 * Throw it when an external system continues the work and will report the outcome under the execution's fence: it stays
 * RUNNING until then, or until its timeout, and occupies no worker.
 *
 * @example
 * ```ts
 * import { Deferred, type HandlerContext } from '@carillon/sdk'
 *
 * export async function render(ctx: HandlerContext<{ film: string }>): Promise<never> {
 *   const { executionId, fence, payload } = ctx
 *   await fetch('https://farm.example/films', { method: 'POST', body: JSON.stringify({ executionId, fence, payload }) })
 *   throw new Deferred()
 * }
 * ```
 */
export class Deferred extends Error {
  override readonly name = 'Deferred'
  readonly [deferred] = true

  constructor(message = 'An external system will report the outcome') {
    super(message)
  }
}

export type AbortCode = 'CANCELLED' | 'TIMED_OUT' | 'LEASE_LOST' | 'SHUTDOWN'

/** Why a handler should stop: the `reason` of its `signal`. Its name is that of every abort on the platform. */
export class AbortReason extends Error {
  override readonly name = 'AbortError'
  readonly code: AbortCode

  constructor(code: AbortCode, message: string) {
    super(message)
    this.code = code
  }
}

/** What the handler asked for by the class of what it threw. Branded, so that a second copy of this package is understood. */
export function directiveOf(thrown: unknown): { retryAfterMs?: number; permanent?: boolean; deferred?: boolean } {
  if (typeof thrown !== 'object' || thrown === null) return {}
  try {
    const branded = thrown as Record<typeof retryLater | typeof permanent | typeof deferred | 'retryAfterMs', unknown>
    if (branded[permanent] === true) return { permanent: true }
    if (branded[deferred] === true) return { deferred: true }
    if (branded[retryLater] === true && typeof branded.retryAfterMs === 'number') {
      return { retryAfterMs: branded.retryAfterMs }
    }
  } catch {
    // A proxy or getter that throws asked for nothing.
  }
  return {}
}
