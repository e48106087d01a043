import type { Clock } from '@carillon/contract/process'
import type { Poller } from './polling/poller.ts'
import type { Reporter } from './reporting/reporter.ts'
import type { Transport } from './transport.ts'
import type { WorkerHealth } from './worker-options.ts'

const silentMs = 30_000
/** A lease that waits for its whole time is not late. */
const leaseMarginMs = 10_000

export interface HealthOptions {
  clock: Clock
  transport: Transport
  reporter: Reporter
  pollers: Poller[]
  leaseWaitMs: number
}

/** Judges by answers, not by what was sent: a worker whose heartbeats are not answered is not healthy. */
export class Health {
  readonly #options: HealthOptions
  #startingAt: number | null = null
  #startedAt: number | null = null
  #reportMs = silentMs
  #over: string | null = null

  constructor(options: HealthOptions) {
    this.#options = options
  }

  starting(): void {
    this.#startingAt = this.#options.clock.now()
  }

  started(reportEveryMs: number): void {
    this.#reportMs = Math.max(silentMs, 3 * reportEveryMs)
    this.#startedAt = this.#options.clock.now()
  }

  ended(why: string): void {
    this.#over ??= why
  }

  now(): WorkerHealth {
    const { clock, reporter, pollers, transport } = this.#options
    const now = clock.now()
    const since = (moment: number | null) => (moment === null ? null : Math.round(now - moment))
    const leases = [...pollers.map(({ answeredAt }) => answeredAt), transport.watchAnsweredAt ?? null]
    const newest = Math.max(...leases.map((moment) => moment ?? Number.NEGATIVE_INFINITY))
    const reason = this.#trouble(now)
    return {
      healthy: reason === null,
      lastLeaseAnswerMs: since(Number.isFinite(newest) ? newest : null),
      lastReportMs: since(reporter.answeredAt),
      ...(reason !== null && { reason }),
    }
  }

  #trouble(now: number): string | null {
    const { reporter, pollers, leaseWaitMs } = this.#options
    if (this.#over !== null) return this.#over
    if (this.#startingAt === null) return 'it has not been started'
    if (this.#startedAt === null) return tooLong(now - this.#startingAt, silentMs, 'it could not register')
    const leaseMs = Math.max(silentMs, leaseWaitMs + leaseMarginMs)
    const waited = Math.max(0, ...pollers.map(({ waitingSince }) => (waitingSince === null ? 0 : now - waitingSince)))
    return (
      tooLong(waited, leaseMs, 'no lease was answered') ??
      tooLong(now - (reporter.answeredAt ?? this.#startedAt), this.#reportMs, 'no report was answered')
    )
  }
}

function tooLong(ms: number, limitMs: number, what: string): string | null {
  return ms > limitMs ? `${what} for ${Math.round(ms / 1_000)} s` : null
}
