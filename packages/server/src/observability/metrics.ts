/** Metrics of one node for Prometheus. The database is queried at scrape time, with bounds. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** What has been found by comparing the ledger with the schedules. */
export interface VerifiedFigures {
  /** Milliseconds. */
  verifiedUntil: number
  occurrences: number
  missed: number
  doubled: number
  stuck: number
  wrong: number
  lost: number
  late: number
  stuckNow: number
}

/** The seams that have a version in Redis. */
export type RedisSeam = 'due-source' | 'signals' | 'liveness' | 'status-reads'

export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new Histogram({
    name: 'carillon_http_request_seconds',
    help: 'Time to answer a request, long polls included',
    labelNames: ['operation', 'status'],
    buckets: secondsBuckets,
    registers: [this.#registry],
  })
  /** Of #requests, found again without a search. */
  readonly #byKind = new Map<string, Histogram.Internal<'operation' | 'status'>>()
  readonly #queue = new Gauge({
    name: 'carillon_executions',
    help: 'Executions ready, running and waiting for a retry, counted up to 100,000',
    labelNames: ['where'],
    registers: [this.#registry],
  })
  readonly #verifiedUntil = new Gauge({
    name: 'carillon_verified_until_seconds',
    help: 'Time up to which the ledger has been compared with the schedules, seconds since 1970',
    registers: [this.#registry],
  })
  readonly #verified = new Gauge({
    name: 'carillon_verified_occurrences',
    help: 'Occurrences that were compared, and found missed, doubled, stuck, wrong, lost or late, since the installation is watched',
    labelNames: ['result'],
    registers: [this.#registry],
  })

  readonly #quarantined = new Gauge({
    name: 'carillon_quarantined_rows',
    help: 'Rows in quarantine, by the table they were in, counted up to 10,000',
    labelNames: ['source'],
    registers: [this.#registry],
  })
  readonly #setAside = new Counter({
    name: 'carillon_set_aside_total',
    help: 'Rows that this node has quarantined, by the table they were in',
    labelNames: ['source'],
    registers: [this.#registry],
  })
  readonly #stuck = new Gauge({
    name: 'carillon_stuck_executions',
    help: 'Executions that should have ended, or moved on, and have not, counted up to 1,000',
    registers: [this.#registry],
  })

  readonly #redisAway = new Gauge({
    name: 'carillon_redis_away',
    help: '1 while this node cannot reach Redis and PostgreSQL does its work',
    registers: [this.#registry],
  })
  readonly #redisFallbacks = new Counter({
    name: 'carillon_redis_fallbacks_total',
    help: 'How often this node went to PostgreSQL because Redis could not answer, by seam',
    labelNames: ['seam'],
    registers: [this.#registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
  }

  requestAnswered(operation: string, status: number, seconds: number): void {
    const key = `${operation} ${status}`
    let figures = this.#byKind.get(key)
    if (figures === undefined) {
      figures = this.#requests.labels(operation, String(status))
      this.#byKind.set(key, figures)
    }
    figures.observe(seconds)
  }

  redisIsAway(isAway: boolean): void {
    this.#redisAway.set(isAway ? 1 : 0)
  }

  redisFellBack(seam: RedisSeam): void {
    this.#redisFallbacks.inc({ seam })
  }

  setAside(source: string): void {
    this.#setAside.inc({ source })
  }

  /** In Prometheus' text form. `verified`: null before the first comparison. `quarantined`: by source. */
  async text(
    executions: Record<string, number>,
    verified: VerifiedFigures | null,
    quarantined: Record<string, number> = {},
  ): Promise<string> {
    this.#quarantined.reset()
    for (const [source, count] of Object.entries(quarantined)) this.#quarantined.set({ source }, count)
    if (verified) {
      const { verifiedUntil, occurrences, missed, doubled, stuck, wrong, lost, late, stuckNow } = verified
      this.#verifiedUntil.set(verifiedUntil / 1_000)
      this.#stuck.set(stuckNow)
      const results = { compared: occurrences, missed, doubled, stuck, wrong, lost, late }
      for (const [result, count] of Object.entries(results)) this.#verified.set({ result }, count)
    }
    for (const [where, count] of Object.entries(executions)) this.#queue.set({ where }, count)
    return this.#registry.metrics()
  }
}
