import {
  completeLeased,
  type LeasedExecution,
  type LeasedStep,
  type MinimalExecution,
  numbersIn,
} from '@carillon/contract'
import { readExactly } from '../../lib/exact-json.ts'
import { itemsOf, membersOf } from '../../lib/json-walker.ts'
import { bigints, booleans, smallints, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

/** Where to read a pool: per lane, the tag to read from and the leases since a lower lane had one. */
export interface LaneReading {
  from: number[]
  since: number[]
  turn: number
}

/** A free slot of a worker. */
export interface Slot {
  workerId: string
  prefetched: boolean
}

/** What a worker was given of a lane. */
export interface Leased {
  workerId: string
  lane: number
  count: number
  /** The largest tag that was taken from the lane. */
  reached: number
  /** JSON texts of MinimalExecution with commas between them, in the order of the worker's slots. */
  executions: string
}

/** A row of what LEASE answers. */
export interface LeasedRow {
  worker_id: string
  lane: number
  leased: number
  reached: number
  executions: string
}

/** A row of `ready`. */
export interface ReadyKey {
  pool: string
  lane: number
  tag: number
  executionId: string
}

/** See functions/leases/lease.sql. The n-th execution goes to the n-th slot. `only`: of these rows, in the order of lane and tag. */
export async function lease(
  database: Database,
  pool: string,
  reading: LaneReading,
  slots: Slot[],
  only?: readonly Omit<ReadyKey, 'pool'>[],
): Promise<Leased[]> {
  if (only?.length === 0) return []
  // One that is named twice would be leased twice.
  const keys = only && [...new Map(only.map((key) => [`${key.tag} ${key.executionId}`, key])).values()]
  const rows = await database.query<LeasedRow>(
    'lease',
    'select * from carillon.lease_ready($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)',
    [
      pool,
      ...leaseParameters(reading, slots),
      database.now,
      keys ? smallints(keys.map((key) => key.lane)) : null,
      keys ? bigints(keys.map((key) => key.tag)) : null,
      keys ? uuids(keys.map((key) => key.executionId)) : null,
    ],
  )
  return rows.map(leasedOf)
}

/**
 * The queue of a pool: of each lane the first ones and a few of the last, which tell whether any can be leased.
 * Index: ready_pkey.
 */
export async function readReadyKeys(database: Database, pool: string, limit: number): Promise<ReadyKey[]> {
  return database.query<ReadyKey & Record<string, unknown>>(
    null,
    `select distinct on (q.lane, q.tag, q.execution_id) q.pool, q.lane, q.tag, q.execution_id "executionId"
     from generate_series(0, 3) lane cross join lateral (
       (select * from carillon.ready r where r.pool = $1 and r.lane = lane order by r.tag, r.execution_id limit $2)
       union all
       (select * from carillon.ready r where r.pool = $1 and r.lane = lane order by r.tag desc, r.execution_id desc limit 5)) q
     order by q.lane, q.tag, q.execution_id`,
    [pool, limit],
  )
}

/** What LEASE is asked, but for pool and time. Neighbouring slots of one kind are a group. */
export function leaseParameters(reading: LaneReading, slots: Slot[]): unknown[] {
  const groups: Slot[] = []
  const numbers: number[] = []
  const places: number[] = []
  for (const slot of slots) {
    const last = groups.at(-1)
    const sameGroup = last !== undefined && last.workerId === slot.workerId && last.prefetched === slot.prefetched
    if (!sameGroup) groups.push(slot)
    places.push(sameGroup ? places.at(-1)! + 1 : 0)
    numbers.push(groups.length)
  }
  return [
    reading.from,
    reading.since,
    reading.turn,
    uuids(groups.map((s) => s.workerId)),
    booleans(groups.map((s) => s.prefetched)),
    numbers,
    places,
  ]
}

export function leasedOf({ worker_id, lane, leased, reached, executions }: LeasedRow): Leased {
  return { workerId: worker_id, lane, count: leased, reached, executions }
}

/** The executions, parsed. */
export function leasedExecutions(executions: string): LeasedExecution[] {
  const leased: MinimalExecution[] = JSON.parse(`[${executions}]`)
  return leased.map(completeLeased)
}

/** With every member, for clients that did not ask for less. Payloads keep their text. */
export function fullText(executions: string): string {
  const text = `[${executions}]`
  const items = Array.from(itemsOf(text, 0), ({ start, end }) => {
    const item = text.slice(start, end - 1)
    const minimal: MinimalExecution = JSON.parse(`${item}}`)
    const missing = Object.entries(completeLeased(minimal)).filter(([name]) => !(name in minimal))
    return `${item}${missing.map(([name, value]) => `,"${name}":${JSON.stringify(value)}`).join('')}}`
  })
  return items.join(',')
}

/** For built-in targets, which pass payloads on: numbers in them are written again as they came. */
export function exactlyLeased(executions: string): LeasedExecution[] {
  const leased = leasedExecutions(executions)
  if (numbersIn(executions) === 'KEPT') return leased
  const text = `[${executions}]`
  let i = 0
  for (const item of itemsOf(text, 0)) {
    for (const { name, start, end } of membersOf(text, item.start)) {
      if (name === 'payload') leased[i]!.payload = readExactly(text.slice(start, end))
      if (name === 'dag') leased[i]!.dag = readExactly(text.slice(start, end)) as LeasedStep
    }
    i++
  }
  return leased
}
