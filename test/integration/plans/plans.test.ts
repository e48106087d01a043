/**
 * What FIRE, LEASE, REPORT and heartbeats read does not grow with what is at rest. Measured in shared buffers, which a server
 * touches or not, whatever else the machine does: at 10,000 and at 100,000 (`npm run plans`: 1,000,000) jobs at rest and as
 * many finished executions in thirty partitions, there with statistics that say the queues are empty and nothing of the
 * ledger, and behind 100,000 dead rows that cannot be vacuumed, on the oldest and the newest PostgreSQL.
 *
 * The times are printed, for whoever wonders; nothing depends on them.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { isPackaged, startPackagedPostgres, startPostgres18 } from '../../support/postgres.ts'
import { Calls } from './calls.ts'
import { layDeadRows } from './dead-rows.ts'
import { takeForEmpty } from './empty-statistics.ts'
import { load, serverSettings } from './load.ts'
import { Meter, nodesOf, type Reading } from './meter.ts'

const servers = new Map([[18, startPostgres18]])
if (isPackaged(15)) servers.set(15, (settings) => startPackagedPostgres(15, settings))

const rows = Number(process.env.PLAN_ROWS ?? 100_000)
const small = '10,000'
const large = rows.toLocaleString('en')
const largeBehindDead = `${large} behind dead rows`
const largeTakenForEmpty = `${large}, taken for empty`
const stages = [small, large, largeTakenForEmpty, largeBehindDead]

const batches = [1, 100, 1_000] as const
const [one, , many] = batches

/** Whatever a call reads besides its rows: roots of indexes, lanes without work, the pool, the shard. */
const baseBuffers = 22
/** Buffers per row, found alike in 15 and 18, with about a third to spare. */
const buffersPerRow: Record<string, number> = {
  'read schedules': 4.2, // 3.0 to 3.3
  'read retries': 1.4, // 1.0
  'read submissions': 1.4, // 1.0
  fire: 43, // 31.2 to 33.5
  fire_retries: 27, // 18.1 to 21.1
  fire_submissions: 24, // 18.3
  submit: 11, // 7.3 to 8.3
  lease: 5.4, // 4.1
  read_held: 5.4, // 3.0 to 4.0
  report: 5.6, // 2.2 to 4.2
}
const names = Object.keys(buffersPerRow)

interface Measured {
  /** By stage, call and number of rows. */
  readings: Map<string, Map<string, Map<number, Reading>>>
  /** Buffers of a reading that does walk over the dead rows. */
  overDeadRows: number
  /** Tables read from one end to the other, and by which call. */
  sequentialScans: string[]
}
const measured = new Map<number, Measured>()

beforeAll(async () => {
  await Promise.all(
    Array.from(servers, async ([version, start]) => {
      const server = await start(serverSettings)
      try {
        measured.set(version, await measureServer(server.url))
      } finally {
        await server.stop()
      }
    }),
  )
  console.log(table())
}, 400_000)

async function measureServer(server: string): Promise<Measured> {
  const readings: Measured['readings'] = new Map()
  {
    await using meter = await Meter.open(await load(server, 10_000))
    readings.set(small, await measureCalls(new Calls(meter)))
  }
  const url = await load(server, rows)
  await using meter = await Meter.open(url)
  const calls = new Calls(meter)
  readings.set(large, await measureCalls(calls))

  await takeForEmpty(url)
  await using misled = await Meter.open(url)
  calls.continueOn(misled)
  readings.set(largeTakenForEmpty, await measureCalls(calls))

  await using _dead = await layDeadRows(url)
  await using later = await Meter.open(url)
  calls.continueOn(later)
  readings.set(largeBehindDead, await measureCalls(calls))
  return {
    readings,
    overDeadRows: (await calls.readFirstSchedule()).buffers,
    sequentialScans: await findSequentialScans(later, calls),
  }
}

async function measureCalls(calls: Calls): Promise<Map<string, Map<number, Reading>>> {
  const readings = new Map<string, Map<number, Reading>>()
  for (const [name, call] of Object.entries(calls.all)) {
    // The first calls plan, and look up in the catalogue what later ones know.
    for (let i = 0; i < 6; i++) await call(1)
    const byBatch = new Map<number, Reading>()
    for (const batch of batches) byBatch.set(batch, await call(batch))
    readings.set(name, byBatch)
  }
  return readings
}

/** The one row of the installation; the tenants that somebody listens to now, of which the first one will do. */
const withoutShorterWay = new Set(['installation', 'event_listeners'])

async function findSequentialScans(meter: Meter, calls: Calls): Promise<string[]> {
  const found = new Set<string>()
  await meter.lookInside()
  for (const [name, call] of Object.entries(calls.all)) {
    await call(10)
    for (const node of meter.plans.flatMap(nodesOf)) {
      if (node['Node Type'] === 'Seq Scan' && !withoutShorterWay.has(node['Relation Name']!))
        found.add(`${name}: ${node['Relation Name']}`)
    }
  }
  return [...found]
}

function reading(version: number, stage: string, name: string, batch: number): Reading {
  return measured.get(version)!.readings.get(stage)!.get(name)!.get(batch)!
}

/** buffers = base + perRow x rows */
function fit(version: number, stage: string, name: string): { base: number; perRow: number } {
  const first = reading(version, stage, name, one).buffers
  const last = reading(version, stage, name, many).buffers
  const perRow = (last - first) / (many - one)
  return { base: first - perRow, perRow }
}

function table(): string {
  const width = largeBehindDead.length
  const title = ['', ''.padEnd(16), ...stages.map((stage) => stage.padStart(width)), `${many} rows`]
  const lines = [...measured.keys()].flatMap((version) =>
    names.map((name) => {
      const cells = stages.map((stage) => {
        const { base, perRow } = fit(version, stage, name)
        return `${base.toFixed(0)} + ${perRow.toFixed(1).padStart(4)}/row`.padStart(width)
      })
      return [version, name.padEnd(16), ...cells, `${reading(version, large, name, many).ms.toFixed(0).padStart(6)} ms`]
    }),
  )
  return ['Buffers per call', title.join('  '), ...lines.map((line) => line.join('  '))].join('\n')
}

describe.each([...servers.keys()])('on PostgreSQL %i', (version) => {
  describe.each(names)('%s', (name) => {
    test.each(stages)('reads a fixed number of buffers and a few per row, at %s', (stage) => {
      const { base, perRow } = fit(version, stage, name)
      expect(base).toBeLessThanOrEqual(baseBuffers)
      expect(perRow).toBeLessThanOrEqual(buffersPerRow[name]!)
    })

    test.each([large, largeTakenForEmpty, largeBehindDead] as const)('reads no more than at 10,000, at %s', (stage) => {
      for (const batch of batches) {
        // One more level of an index is not growth: neither where the call as a whole stays below what any call may read,
        // nor where it is one buffer more for each row.
        const before = Math.max(reading(version, small, name, batch).buffers, baseBuffers)
        expect(reading(version, stage, name, batch).buffers).toBeLessThanOrEqual(Math.max(1.2 * before, before + batch))
      }
    })
  })

  test('the dead rows are there: a reading that starts before them walks over all of them', () => {
    expect(measured.get(version)!.overDeadRows).toBeGreaterThan(100_000)
  })

  test('no table is read from one end to the other', () => {
    expect(measured.get(version)!.sequentialScans).toEqual([])
  })
})
