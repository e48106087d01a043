/**
 * What will fire, per tenant: computed when it is asked for, in the background and in slices that leave the event loop to others, one
 * tenant at a time. It is kept and given again at once; when it is older than a minute, or this node has seen a change of schedules, it is
 * computed anew while the old one is still given. Only the first question waits, and not for long.
 */
import { CarillonError } from '@carillon/contract'
import { ForecastTable, type ScheduleGroup } from '../domain/schedule/forecast.ts'
import { type Clock, monotonicMs } from '../lib/clock.ts'
import { eventLoopYielder } from '../lib/event-loop-yielder.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { firstId } from '../store/executions/select.ts'
import { readScheduleGroups } from '../store/schedules/group.ts'
import { measureDurations } from './durations.ts'

export interface ForecastsOptions {
  database: Database
  clock: Clock
  logger: Logger
  /** How long the first question waits. */
  waitMs?: number
}

interface Kept {
  table: ForecastTable
  /** How long it took. */
  costMs: number
  changes: number
}

const freshMs = 60_000
const freshAfterChangeMs = 5_000
/** Computing takes at most this share of the time. */
const share = 0.05
const oldestMs = 600_000
const mostTenants = 16
/** What comes with one is parsed in one go. */
const pageSize = 1_000

export class Forecasts implements Service {
  readonly #options: ForecastsOptions
  readonly #kept = new Map<string, Kept>()
  readonly #computing = new Map<string, Promise<ForecastTable>>()
  #turn: Promise<unknown> = Promise.resolve()
  #changes = 0
  #stopped = false

  constructor(options: ForecastsOptions) {
    this.#options = options
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#turn
  }

  /** Schedules have changed. */
  changed(): void {
    this.#changes++
  }

  /** Throws UNAVAILABLE if it takes too long; then it will be there soon. */
  async of(tenant: string): Promise<ForecastTable> {
    const kept = this.#kept.get(tenant)
    const ageMs = kept ? this.#options.clock.now() - kept.table.now : Infinity
    if (kept && ageMs >= 0 && ageMs < this.#freshFor(kept)) return kept.table
    const computing = this.#computing.get(tenant) ?? this.#compute(tenant)
    if (kept === undefined || ageMs < 0 || ageMs > oldestMs) return this.#within(computing)
    return kept.table
  }

  #freshFor({ costMs, changes }: Kept): number {
    return Math.max(changes === this.#changes ? freshMs : freshAfterChangeMs, costMs / share)
  }

  #compute(tenant: string): Promise<ForecastTable> {
    const computing = this.#turn.then(() => this.#computeNow(tenant)).finally(() => this.#computing.delete(tenant))
    this.#computing.set(tenant, computing)
    this.#turn = computing.catch((error: unknown) => {
      if (!this.#stopped) this.#options.logger.warn({ err: error, tenant }, 'a forecast could not be computed')
    })
    return computing
  }

  async #computeNow(tenant: string): Promise<ForecastTable> {
    const { database, clock } = this.#options
    const began = monotonicMs()
    const changes = this.#changes
    const table = new ForecastTable(clock.now(), await measureDurations(database, tenant))
    const yielder = eventLoopYielder()
    const pause = () => {
      if (this.#stopped) throw new CarillonError('UNAVAILABLE', 'the node is stopping')
      return yielder()
    }
    for (const group of await this.#groups(tenant, pause)) await table.add(group, pause)
    await table.finish(pause)
    this.#kept.delete(tenant)
    this.#kept.set(tenant, { table, costMs: monotonicMs() - began, changes })
    if (this.#kept.size > mostTenants) this.#kept.delete(this.#kept.keys().next().value!)
    return table
  }

  /** Jobs that fire at the same times together, whatever they run. */
  async #groups(tenant: string, pause: () => Promise<void> | null): Promise<Iterable<ScheduleGroup>> {
    const groups = new Map<string, ScheduleGroup>()
    for (let after: string | null = firstId; after !== null; ) {
      const page = await readScheduleGroups(this.#options.database, { tenant, after, limit: pageSize })
      for (const { key, group } of page.groups) {
        const known = groups.get(key)
        if (known === undefined) groups.set(key, group)
        else merge(known, group)
        await pause()
      }
      after = page.next
    }
    return groups.values()
  }

  async #within(computing: Promise<ForecastTable>): Promise<ForecastTable> {
    const { waitMs = 5_000 } = this.#options
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(beingComputed()), waitMs)
    })
    try {
      return await Promise.race([computing, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

const sampled = 10

function merge(known: ScheduleGroup, { targets, sample }: ScheduleGroup): void {
  for (const { pool, handler, jobs } of targets) {
    const same = known.targets.find((target) => target.pool === pool && target.handler === handler)
    if (same) same.jobs += jobs
    else known.targets.push({ pool, handler, jobs })
  }
  known.sample.push(...sample.slice(0, sampled - known.sample.length))
}

function beingComputed(): CarillonError {
  return new CarillonError('UNAVAILABLE', {
    message: 'the forecast is being computed',
    hint: 'Ask again in a few seconds: it goes on meanwhile',
  })
}
