/**
 * Adds minutes up to hours and hours to days, and drops what is too old to be asked for. The hour and the day that are not over yet are
 * added up as well, again at every run, so that a question needs few rows. A minute that is written late, up to ten minutes after
 * its hour, is still in it. Days are what tenants are billed by: their sums by pool are kept longer than what stats answer, without handlers.
 */
import type { Clock } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import type { StatsRow, StoredStep } from '../store/stats/figures.ts'
import { readSums } from '../store/stats/read.ts'
import { pruneHandlers, pruneStats, readRolledUntil, readTenants, writeRolledUntil } from '../store/stats/roll.ts'
import { writeStats } from '../store/stats/write.ts'
import { Tally } from './tally.ts'
import { usageDays } from './usage.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const lateMs = 600_000
/** How long each is kept: an hour or a day longer than it can be asked for. */
const keptMs: Record<StoredStep, number> = { MINUTE: 49 * hourMs, HOUR: 31 * dayMs, DAY: (usageDays + 2) * dayMs }
/** Days by handler: as long as the hours that are asked for together with them. */
const handlersKeptMs = 32 * dayMs
/** What a node did not drop for this long, because there was none, stays until its day goes. */
const handlersSoughtMs = 7 * dayMs
const tenantsAtOnce = 50
const rowsAtOnce = 500
const prunedAtOnce = 5_000

export class StatsRoller {
  readonly #database: Database
  readonly #clock: Clock

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database
    this.#clock = clock
  }

  async runOnce(): Promise<void> {
    const now = Math.floor(this.#clock.now())
    const oldest = floor(now - keptMs.MINUTE, hourMs)
    const from = Math.max((await readRolledUntil(this.#database)) ?? oldest, oldest)
    await this.#ofTenants('MINUTE', async (tenants) => {
      for (let at = from; at <= now; at += hourMs) await this.#roll(tenants, 'HOUR', { from: at, to: at + hourMs })
      for (let at = floor(from, dayMs); at <= now; at += dayMs) {
        await this.#roll(tenants, 'DAY', { from: at, to: at + dayMs })
      }
    })
    await writeRolledUntil(this.#database, floor(now - lateMs, hourMs))
    for (const step of ['MINUTE', 'HOUR', 'DAY'] as const) await this.#prune(step, now)
  }

  async #prune(step: StoredStep, now: number): Promise<void> {
    const rows = { step, before: now - keptMs[step], limit: prunedAtOnce }
    const before = now - handlersKeptMs
    const ofHandlers = { step, from: before - handlersSoughtMs, before, limit: prunedAtOnce }
    await this.#ofTenants(step, async (tenants) => {
      while (await pruneStats(this.#database, { ...rows, tenants }));
      if (step === 'DAY') while (await pruneHandlers(this.#database, { ...ofHandlers, tenants }));
    })
  }

  async #roll(tenants: string[], step: 'HOUR' | 'DAY', range: { from: number; to: number }): Promise<void> {
    const source = step === 'HOUR' ? 'MINUTE' : 'HOUR'
    const sums = summed(await readSums(this.#database, { tenants, step: source, ...range }), range.from)
    for (let i = 0; i < sums.length; i += rowsAtOnce) {
      await writeStats(this.#database, { step, nodeId: null, rows: sums.slice(i, i + rowsAtOnce) })
    }
  }

  async #ofTenants(step: StoredStep, act: (tenants: string[]) => Promise<void>): Promise<void> {
    for (let after = ''; ; ) {
      const tenants = await readTenants(this.#database, step, { after, limit: tenantsAtOnce })
      if (tenants.length > 0) await act(tenants)
      if (tenants.length < tenantsAtOnce) return
      after = tenants.at(-1)!
    }
  }
}

/** By pool and handler, by pool, and of all. */
function summed(rows: readonly Omit<StatsRow, 'at'>[], at: number): StatsRow[] {
  const sums = new Map<string, { tenant: string; pool: string; handler: string; tally: Tally }>()
  for (const row of rows) {
    const { tenant, pool, handler } = row
    const places = [
      { tenant, pool, handler },
      { tenant, pool, handler: '' },
      { tenant, pool: '', handler: '' },
    ]
    for (const place of places) {
      const key = `${tenant}\u0000${place.pool}\u0000${place.handler}`
      const sum = sums.get(key) ?? { ...place, tally: new Tally() }
      sum.tally.addStored(row.figures)
      sums.set(key, sum)
    }
  }
  return [...sums.values()].map(({ tally, ...place }) => ({ ...place, at, figures: tally.stored() }))
}

function floor(ms: number, step: number): number {
  return Math.floor(ms / step) * step
}
