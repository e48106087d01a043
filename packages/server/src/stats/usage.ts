/** Answers what tenants used, by day: from the days that the roller keeps, so that nothing is counted for it anew. */
import {
  CarillonError,
  type TenantUsage,
  type Usage as UsageAnswer,
  type UsageDay,
  type UsageFigures,
} from '@carillon/contract'
import type { Clock } from '../lib/clock.ts'
import { isoTime } from '../lib/iso-time.ts'
import type { Database } from '../store/database.ts'
import { readPoolDays, readTenantDays, readTimes } from '../store/stats/read.ts'
import { readTenants } from '../store/stats/roll.ts'
import { Tally } from './tally.ts'

const dayMs = 24 * 3_600_000
/** Thirteen months and a little. The roller keeps days a little longer. */
export const usageDays = 400
/** The duty that adds up hours and days runs every minute. */
export const rolledEveryMs = 60_000
const usualDays = 30
const mostDaysByPool = 100
/** Who asks for all that is kept may take a while to ask. */
const graceMs = 600_000
const tenantsAtOnce = 100

export interface UsageQuestion {
  from: number | null
  to: number | null
}

export class Usage {
  readonly #database: Database
  readonly #clock: Clock
  readonly #writtenEveryMs: number

  constructor(options: { database: Database; clock: Clock; writtenEveryMs: number }) {
    this.#database = options.database
    this.#clock = options.clock
    this.#writtenEveryMs = options.writtenEveryMs
  }

  async read(tenant: string, { byPool, ...question }: UsageQuestion & { byPool: boolean }): Promise<UsageAnswer> {
    const { from, to, times } = this.#rangeOf(question)
    if (byPool && to - from > mostDaysByPool * dayMs) throw tooLongByPool()
    const place = { pools: [''], handler: '' }
    const [rows, ofPools] = await Promise.all([
      readTimes(this.#database, { tenant, step: 'DAY', from, to }, place),
      byPool ? readPoolDays(this.#database, { tenant, from, to }) : [],
    ])
    const pools = Map.groupBy(ofPools, ({ at }) => at)
    const days: UsageDay[] = rows.flatMap(({ at, figures }) => {
      const used = usageOf(figures)
      if (!isUsed(used)) return []
      const parts = (pools.get(at) ?? []).map((row) => ({ pool: row.pool, ...usageOf(row.figures) })).filter(isUsed)
      return [{ day: isoTime(at).slice(0, 10), ...used, ...(byPool && { pools: parts }) }]
    })
    return { tenant, ...times, total: totalOf(days), days }
  }

  /** Of tenants after this one, by name, those that used something; `last`: the last one that was looked at, null at the end. */
  async list(
    question: UsageQuestion,
    { after, limit }: { after: string; limit: number },
  ): Promise<{ items: TenantUsage[]; last: string | null }> {
    const { from, to, times } = this.#rangeOf(question)
    const tenants = await readTenants(this.#database, 'DAY', { after, limit })
    const items: TenantUsage[] = []
    for (let i = 0; i < tenants.length; i += tenantsAtOnce) {
      const part = tenants.slice(i, i + tenantsAtOnce)
      for (const { tenant, figures } of await readTenantDays(this.#database, { tenants: part, from, to })) {
        const total = usageOf(figures)
        if (isUsed(total)) items.push({ tenant, ...times, total })
      }
    }
    return { items, last: tenants.length < limit ? null : tenants.at(-1)! }
  }

  #rangeOf(question: UsageQuestion): { from: number; to: number; times: Pick<TenantUsage, 'from' | 'to' | 'until'> } {
    const now = this.#clock.now()
    const end = Math.min(question.to ?? now, now)
    const to = Math.ceil(end / dayMs) * dayMs
    const from = Math.floor((question.from ?? to - usualDays * dayMs) / dayMs) * dayMs
    if (from >= to) {
      throw new CarillonError('VALIDATION', {
        pointer: '/from',
        message: 'is not before `to`, or lies in the future',
        hint: 'Ask for a time that has passed',
      })
    }
    if (from < now - (usageDays + 1) * dayMs - graceMs) {
      throw new CarillonError('TIME_OUT_OF_RANGE', {
        pointer: '/from',
        message: `days are kept for ${usageDays} days`,
        hint: 'Ask for a later time',
      })
    }
    const until = Math.min(to, Math.floor(now - this.#writtenEveryMs - rolledEveryMs))
    return { from, to, times: { from: isoTime(from), to: isoTime(to), until: isoTime(until) } }
  }
}

function isUsed({ ended, attempts, failed }: UsageFigures): boolean {
  return ended + attempts + failed > 0
}

function usageOf(figures: Buffer): UsageFigures {
  const tally = new Tally()
  tally.addStored(figures)
  return tally.usage()
}

/** The sum of what is shown, so that an invoice adds up. */
function totalOf(days: readonly UsageFigures[]): UsageFigures {
  const total = new Tally().usage()
  for (const day of days) for (const name of Object.keys(total) as (keyof UsageFigures)[]) total[name] += day[name]
  return total
}

function tooLongByPool(): CarillonError {
  return new CarillonError('VALIDATION', {
    pointer: '/from',
    message: `by pool at most ${mostDaysByPool} days are answered at once`,
    hint: 'Ask for a shorter range, or without byPool',
  })
}
