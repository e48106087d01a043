/** What waits for limits: read, and admitted. See functions/limits/admit.sql. */
import { bigints, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'
import { type QueuedWork, queuedOf } from '../rows.ts'

export interface Candidate {
  executionId: string
  tenant: string
  pool: string
  lane: number
  /** The key that it waits for, its start tag there, and what it costs. */
  key: string
  start: number
  cost: number
}

export interface Admissible {
  /** Keys that were looked at, which of their changes were there, and those that have more than was read. */
  keys: string[]
  seen: number[]
  unfinished: string[]
  candidates: Candidate[]
  /** When the rate of a limit allows something again that waits for it. Null: nothing waits for a rate. */
  nextAt: number | null
}

export async function readAdmissible(database: Database, most: number, now = database.now): Promise<Admissible> {
  const rows = await database.query<{
    keys: string[]
    seen: number[]
    unfinished: string[]
    ids: string[]
    waits: string[] | null
    starts: number[] | null
    costs: number[] | null
    tenants: (string | null)[] | null
    pools: string[] | null
    lanes: number[] | null
    next_at: number | null
  }>('read-admissible', 'select * from carillon.read_admissible($1, $2)', [most, now])
  const { keys, seen, unfinished, ids, waits, starts, costs, tenants, pools, lanes, next_at: nextAt } = rows[0]!
  const candidates = ids.flatMap((executionId, i) => {
    const tenant = tenants?.[i] ?? null
    // Without a row of the ledger there is nothing to run: the inspector puts it into quarantine.
    if (tenant === null) return []
    const [pool, lane, key, start, cost] = [pools![i]!, lanes![i]!, waits![i]!, starts![i]!, costs![i]!]
    return [{ executionId, tenant, pool, lane, key, start, cost }]
  })
  return { keys, seen, unfinished, candidates, nextAt }
}

export async function admit(
  database: Database,
  { keys, seen, unfinished, candidates }: Omit<Admissible, 'nextAt'>,
  tags: readonly number[],
  now = database.now,
): Promise<{ moved: string[]; queued: QueuedWork[]; more: boolean }> {
  const rows = await database.query<{
    moved: string[]
    queued: [string, number, number, number][] | null
    more: boolean
  }>('admit', 'select * from carillon.admit($1, $2, $3, $4, $5, $6, $7, $8, $9)', [
    texts(keys),
    bigints(seen),
    texts(unfinished),
    uuids(candidates.map(({ executionId }) => executionId)),
    texts(candidates.map(({ key }) => key)),
    bigints(candidates.map(({ start }) => start)),
    bigints(candidates.map(({ cost }) => cost)),
    bigints(tags),
    now,
  ])
  const { moved, queued, more } = rows[0]!
  return { moved, queued: queuedOf(queued), more }
}

/** Keys of limits that had lost slots, with how many; mended. */
export async function checkSlots(database: Database): Promise<{ key: string; leaked: number }[]> {
  return database.query('check-slots', 'select key, leaked from carillon.check_slots($1)', [database.now])
}

/** Whether anything is declared, or was until a moment ago: without, nothing waits for a limit or holds slots of one. */
export async function anyLimits(database: Database): Promise<boolean> {
  const rows = await database.query<{ any: boolean }>(
    'any-limits',
    `select exists (select from carillon.limits) or exists (select from carillon.limit_changes)
       or exists (select from carillon.limit_holds) "any"`,
  )
  return rows[0]!.any
}

/** What waits for limits is charged to its flow when it is admitted, and not before. */
export async function refundFlows(database: Database): Promise<void> {
  await database.query('refund-flows', 'select carillon.refund_flows()')
}
