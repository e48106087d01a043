/** Partitions are there before anything is written to them, whoever makes them and whatever else goes on. */
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import { migrate } from '../../../packages/server/src/store/migrate.ts'
import { Partitioner } from '../../../packages/server/src/upkeep/partitioner.ts'
import { createDatabase } from '../../support/postgres.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const disposals: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose()
})

describe('partitions', () => {
  it('reach from the floor to three days ahead, of ledger, endings and log lines alike, and none takes what no other does', async () => {
    const { url, partitioner } = await installation()
    const now = Date.now()
    await partitioner(now).createMissing()
    const starts = await attached(url)
    expect(starts.executions).toEqual(days(dayOf(now) - dayMs, dayOf(now) + 3 * dayMs))
    expect(starts.endings).toEqual(starts.executions)
    expect(starts.logLines).toEqual(starts.executions)
    const defaults = await query(url, `select from pg_partitioned_table where partdefid <> 0`)
    expect(defaults.rowCount).toBe(0)
  })

  it('are made once, though five nodes begin at once and begin again', async () => {
    const { url, partitioner } = await installation()
    const now = Date.now()
    const all = Array.from({ length: 5 }, () => partitioner(now))
    expect(await Promise.all(all.map((p) => p.createMissing()))).toEqual(all.map(() => null))
    const first = await attached(url)
    await Promise.all(all.map((p) => p.createMissing()))
    expect(await attached(url)).toEqual(first)
    expect(first.executions).toHaveLength(5)
  })

  it('of the days in between are made after a rest of ten days', async () => {
    const { url, partitioner } = await installation()
    const now = Date.now()
    await partitioner(now).createMissing()
    await partitioner(now + 10 * dayMs).createMissing()
    const { executions, endings } = await attached(url)
    expect(executions).toEqual(days(dayOf(now) - dayMs, dayOf(now) + 13 * dayMs))
    expect(endings).toEqual(executions)
  })

  it('can be as wide as asked for', async () => {
    const { url, partitioner } = await installation(7)
    const now = Date.now()
    await partitioner(now).createMissing()
    const { executions } = await attached(url)
    expect(executions[0]).toBeLessThanOrEqual(dayOf(now) - dayMs)
    expect(executions.at(-1)! + 7 * hourMs).toBeGreaterThanOrEqual(now + 3 * dayMs)
    expect(executions.every((from, i) => i === 0 || from - executions[i - 1]! === 7 * hourMs)).toBe(true)
  })

  it('that a node made only half of are completed', async () => {
    const { url, partitioner } = await installation()
    const now = Date.now()
    await partitioner(now).createMissing()
    const whole = await attached(url)
    await query(url, `drop table carillon.endings_p${dayOf(now) + dayMs}`)
    await partitioner(now).createMissing()
    expect(await attached(url)).toEqual(whole)
  })

  it('are made while a transaction that read and wrote the ledger stays open', async () => {
    const { url, partitioner } = await installation()
    const now = Date.now()
    await partitioner(now).createMissing()
    const reader = await connect(url)
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from carillon.executions')
    await reader.query(`delete from carillon.executions where state = 'SKIPPED'`)
    expect(await partitioner(now + 2 * dayMs).createMissing()).toBeNull()
    await reader.query('rollback')
    expect((await attached(url)).executions).toHaveLength(7)
  })

  it('wait for nobody who locks the ledger: what is needed later is made later', async () => {
    const { url, partitioner } = await installation()
    const now = Date.now()
    await partitioner(now).createMissing()
    const locker = await connect(url)
    await locker.query('begin')
    await locker.query('lock table carillon.executions in share update exclusive mode')
    // A day ahead is missing: nothing stands still for it, and the duty comes again.
    const tomorrow = partitioner(now + dayMs)
    await expect(tomorrow.createMissing()).resolves.toMatchObject({ code: '55P03' })
    // Today is missing: that must be known.
    await expect(partitioner(now + 4 * dayMs).createMissing()).rejects.toMatchObject({ code: '55P03' })
    await locker.query('rollback')
    await tomorrow.runOnce()
    expect((await attached(url)).executions).toHaveLength(6)
  })
})

async function installation(partitionHours = 24) {
  const home = await createDatabase()
  disposals.push(() => home.drop())
  const open = () => {
    const database = new Database({
      url: home.url,
      maxConnections: 2,
      statementTimeoutMs: 1_800,
      applicationName: 'test',
    })
    disposals.push(() => database.end())
    return database
  }
  await migrate(open(), { shardCount: 4, partitionHours, retentionDays: 30 })
  const logger = createLogger('silent')
  /** A node of its own for which it is `now`. */
  const partitioner = (now: number) => new Partitioner({ database: open(), clock: { now: () => now }, logger })
  return { url: home.url, partitioner }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  disposals.push(() => client.end())
  return client
}

async function query(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client.query(sql).finally(() => client.end())
}

/** Starts of the attached ranges, by table. */
async function attached(url: string): Promise<Record<'executions' | 'endings' | 'logLines', number[]>> {
  const { rows } = await query(
    url,
    `select p.relname parent, array_agg(substring(c.relname from '[0-9]+$')::float8 order by c.relname) starts
     from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
     where p.relnamespace = 'carillon'::regnamespace and p.relkind = 'p' and not i.inhdetachpending group by 1`,
  )
  const of = (parent: string) => rows.find((row) => row.parent === parent)?.starts ?? []
  return { executions: of('executions'), endings: of('endings'), logLines: of('log_lines') }
}

function dayOf(at: number): number {
  return Math.floor(at / dayMs) * dayMs
}

function days(from: number, to: number): number[] {
  return Array.from({ length: (to - from) / dayMs + 1 }, (_, i) => from + i * dayMs)
}
