/**
 * Steady life (as in `life`) while another session of the same database holds a snapshot open, so that no dead row can be
 * cleared away: what a forgotten transaction or a long report does to queues in PostgreSQL. Compared are the minute before
 * and the last of three minutes with it, in one run without a pause.
 */
import pg from 'pg'
import type { Installation, Workers } from '../ground/ground.ts'
import { concurrency, type LifeIn, type Stretch, startLife } from '../load/steady-life.ts'
import { cpuShares } from '../measure/cpu.ts'
import { inRounds, type Round, resultOf } from '../measure/rounds.ts'
import type { Bench, Result, Scenario } from '../scenario.ts'

const target = 0.9

export const scenario: Scenario = {
  name: 'held-snapshot',
  summary: 'throughput with another session’s snapshot held open for three minutes, beside that before',
  limitMinutes: 25,
  async run(bench) {
    await using installation = await bench.ground.installation()
    await using workers = await installation.startWorkers(2, { concurrency })
    const what = { name: 'held-snapshot', unit: 'x', valueOf: ratioOf }
    return results(await inRounds(bench, what, () => round(bench, installation, workers)))
  },
}

async function round(bench: Bench, installation: Installation, workers: Workers): Promise<Measured> {
  const stretchSec = bench.size(60, 10)
  // What the round before left behind is not to be cleared away in the minute that counts as clean.
  await installation.query('vacuum carillon.ready, carillon.leases, carillon.executions')
  await using life = await startLife(bench, installation, workers)
  await life.goOn(bench.size(15, 5))
  bench.progress(`${stretchSec} s without a snapshot`)
  const clean = await life.goOn(stretchSec)
  const deadBefore = await deadRows(installation)
  const held = await heldStretches(bench, installation, () => life.goOn(stretchSec))
  const deadAfter = await deadRows(installation)
  await life.end()
  const rates: LifeIn[] = []
  for (const stretch of [clean, ...held]) rates.push(await life.lifeIn(stretch))
  bench.progress(`a second: ${rates.map(({ rate }) => Math.round(rate)).join(', then ')}`)
  return { clean, held, rates, dead: { before: deadBefore, after: deadAfter } }
}

const heldCount = 3

/** Three stretches one after the other while a snapshot is held. */
async function heldStretches(
  bench: Bench,
  installation: Installation,
  goOn: () => Promise<Stretch>,
): Promise<Stretch[]> {
  const session = new pg.Client({ connectionString: installation.databaseUrl, application_name: 'a forgotten session' })
  await session.connect()
  try {
    await session.query('begin isolation level repeatable read')
    await session.query('select count(*) from carillon.installation')
    const stretches: Stretch[] = []
    for (let n = 1; n <= heldCount; n++) {
      bench.progress(`with a snapshot held: ${n} of ${heldCount}`)
      stretches.push(await goOn())
      bench.progress(`dead rows: ${textOf(await deadRows(installation))}`)
    }
    await requireHeld(installation, session)
    return stretches
  } finally {
    await session.end()
  }
}

/** The figures mean nothing if somebody ended the session meanwhile. */
async function requireHeld(installation: Installation, session: pg.Client): Promise<void> {
  const [row] = await installation.query<{ held: boolean }>(
    `select coalesce(bool_or(backend_xmin is not null), false) held from pg_stat_activity
     where application_name = 'a forgotten session' and datname = current_database()`,
  )
  if (!row!.held) throw new Error('the snapshot was not held to the end')
  await session.query('rollback')
}

type DeadRows = Record<string, number>

/** As PostgreSQL counts them; it knows of what was done up to a second ago. */
async function deadRows(installation: Installation): Promise<DeadRows> {
  const rows = await installation.query<{ table: string; dead: number }>(
    `select relname "table", n_dead_tup::int dead from pg_stat_user_tables
     where schemaname = 'carillon' and relname in ('ready', 'leases', 'schedules') order by 1`,
  )
  return Object.fromEntries(rows.map(({ table, dead }) => [table, dead]))
}

function textOf(dead: DeadRows): string {
  return Object.entries(dead)
    .map(([table, count]) => `${table} ${count.toLocaleString('en-US')}`)
    .join(', ')
}

interface Measured {
  clean: Stretch
  held: Stretch[]
  /** Of the clean one, then of those with the snapshot. */
  rates: LifeIn[]
  dead: { before: DeadRows; after: DeadRows }
}

function ratioOf({ rates }: Measured): number {
  return rates.at(-1)!.rate / rates[0]!.rate
}

function results(rounds: readonly Measured[]): Result[] {
  const part = (stretch: Stretch, { rate, finished }: LifeIn): Round => ({
    value: rate,
    cpu: stretch.cpu,
    count: finished,
    detail: cpuShares(stretch.cpu, stretch.until - stretch.from),
  })
  const told = { unit: '/s', target: null, better: 'higher' } as const
  return [
    resultOf(
      { name: 'held-snapshot last minute / clean', unit: 'x', target, better: 'higher' },
      rounds.map((measured) => ({
        value: ratioOf(measured),
        detail: {
          'held /s, one after the other': measured.rates
            .slice(1)
            .map(({ rate }) => Math.round(rate))
            .join(' '),
          'dead rows before': textOf(measured.dead.before),
          'dead rows at the end': textOf(measured.dead.after),
        },
      })),
    ),
    resultOf(
      { name: 'held-snapshot clean', ...told },
      rounds.map(({ clean, rates }) => part(clean, rates[0]!)),
    ),
    resultOf(
      { name: 'held-snapshot last minute', ...told },
      rounds.map(({ held, rates }) => part(held.at(-1)!, rates.at(-1)!)),
    ),
  ]
}
