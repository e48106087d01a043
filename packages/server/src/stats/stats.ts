/** Answers what happened, by minute or by hour, for one tenant. */
import { CarillonError, type Stats as StatsAnswer, type StatsFigures } from '@carillon/contract'
import type { Clock } from '../lib/clock.ts'
import { isoTime } from '../lib/iso-time.ts'
import type { Database } from '../store/database.ts'
import type { StatsRow, StoredStep } from '../store/stats/figures.ts'
import { readSums, readTimes, type StatsRange } from '../store/stats/read.ts'
import { Tally } from './tally.ts'
import { rolledEveryMs, Usage } from './usage.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Of each step: how long it is, how far back it goes, and what is answered if nothing is asked for. */
const steps = {
  MINUTE: { ms: minuteMs, keptMs: 48 * hourMs, kept: '48 hours', usualMs: hourMs },
  HOUR: { ms: hourMs, keptMs: 30 * dayMs, kept: '30 days', usualMs: dayMs },
} as const

const mostGroups = 50
/** Who asks for all that is kept may take a while to ask. */
const graceMs = 10 * minuteMs
/** An hour that is over for this long has been added up. */
const addedUpMs = 10 * minuteMs

type Sum = Omit<StatsRow, 'at'>

export interface StatsQuestion {
  step?: keyof typeof steps
  from?: number
  to?: number
  pool?: string
  handler?: string
}

export class Stats {
  readonly #database: Database
  readonly #clock: Clock
  readonly #writtenEveryMs: number
  readonly usage: Usage

  constructor(options: { database: Database; clock: Clock; writtenEveryMs: number }) {
    this.#database = options.database
    this.#clock = options.clock
    this.#writtenEveryMs = options.writtenEveryMs
    this.usage = new Usage(options)
  }

  async read(tenant: string, question: StatsQuestion): Promise<StatsAnswer> {
    const { step = 'MINUTE', pool = null, handler = null } = question
    const now = this.#clock.now()
    const { from, to } = rangeOf(question, step, now)
    const sums = await this.#sums({ tenants: [tenant], step, from, to, now }, { pool, handler })
    const [pools, handlers] = [new Groups(), new Groups()]
    for (const sum of sums) {
      const tally = tallyOf(sum.figures)
      pools.add(sum.pool, tally)
      handlers.add(sum.handler, tally)
    }
    const named = pool !== null ? [pool] : handler !== null ? sums.map((sum) => sum.pool) : ['']
    const rows = await readTimes(
      this.#database,
      { tenant, step, from, to },
      { pools: [...new Set(named)], handler: handler ?? '' },
    )
    const total = new Tally()
    const buckets = rows.map(({ at, figures }) => {
      const tally = tallyOf(figures)
      total.add(tally)
      return { at: isoTime(at), ...tally.figures() }
    })
    const written = now - this.#writtenEveryMs - (step === 'HOUR' ? rolledEveryMs : 0)
    return {
      ...{ from: isoTime(from), to: isoTime(to), step, until: isoTime(Math.min(to, Math.floor(written))) },
      total: total.figures(),
      buckets,
      pools: pools.largest(mostGroups).map(([name, figures]) => ({ pool: name, ...figures })),
      handlers: handlers.largest(mostGroups).map(([name, figures]) => ({ handler: name, ...figures })),
    }
  }

  /** Whole hours and days are read as such, what is left at the ends in smaller steps. */
  async #sums(
    { tenants, step, from, to, now }: StatsRange & { tenants: string[]; now: number },
    of: { pool: string | null; handler: string | null },
  ): Promise<Sum[]> {
    const wide: { step: StoredStep; ms: number } =
      step === 'HOUR' ? { step: 'DAY', ms: dayMs } : { step: 'HOUR', ms: hourMs }
    const begin = Math.min(to, Math.ceil(from / wide.ms) * wide.ms)
    // The day that is not over has been added up as far as its hours have; the hour that is not over is behind its minutes.
    const isOpen = step === 'HOUR' && to >= now
    const known = isOpen ? Math.ceil(to / dayMs) * dayMs : step === 'HOUR' ? to : Math.min(to, now - addedUpMs)
    const end = Math.max(begin, Math.floor(known / wide.ms) * wide.ms)
    const parts = [
      { step, from, to: begin },
      { step: wide.step, from: begin, to: end },
      { step, from: end, to },
    ]
    const rows = await Promise.all(
      parts.filter((part) => part.from < part.to).map((part) => readSums(this.#database, { tenants, ...part }, of)),
    )
    return rows.flat()
  }
}

/** Tallies by a name. */
class Groups {
  readonly #tallies = new Map<string, Tally>()

  add(name: string, part: Tally): void {
    const tally = this.#tallies.get(name) ?? new Tally()
    tally.add(part)
    this.#tallies.set(name, tally)
  }

  largest(most: number): [string, StatsFigures][] {
    return [...this.#tallies]
      .toSorted(([, one], [, another]) => another.started - one.started || another.created - one.created)
      .slice(0, most)
      .map(([name, tally]) => [name, tally.figures()])
  }
}

function tallyOf(figures: Buffer): Tally {
  const tally = new Tally()
  tally.addStored(figures)
  return tally
}

function rangeOf(question: StatsQuestion, step: keyof typeof steps, now: number): { from: number; to: number } {
  const { ms, keptMs, kept, usualMs } = steps[step]
  const end = Math.min(question.to ?? now, now)
  const to = Math.ceil(end / ms) * ms
  const from = Math.floor((question.from ?? end - usualMs) / ms) * ms
  if (from >= to) {
    throw new CarillonError('VALIDATION', {
      pointer: '/from',
      message: 'is not before `to`, or lies in the future',
      hint: 'Ask for a time that has passed',
    })
  }
  if (from < now - keptMs - ms - graceMs) {
    const hint = step === 'MINUTE' ? 'Ask for step=HOUR, or for a later time' : 'Ask for a later time'
    throw new CarillonError('TIME_OUT_OF_RANGE', {
      pointer: '/from',
      message: `figures by ${step.toLowerCase()} are kept for ${kept}`,
      hint,
    })
  }
  return { from, to }
}
