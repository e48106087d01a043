/**
 * Which row locks an operation waits for while it holds which others. The operation is run once to its end to see what it
 * locks, then once for each of those rows with that row held by somebody else; when it waits there, another connection
 * tries every row of the engine's tables: those it cannot have are held. Everything is rolled back.
 */
import { Database } from '../../packages/server/src/store/database.ts'

/** The order in the heads of 0025_limits.sql, 0002_front_door.sql and 0026_quotas.sql. */
export const lockOrder = [
  ...(['idempotency', 'job_counts', 'dedupes'] as const),
  ...(['shards', 'schedules', 'flows', 'leases', 'lease_notes', 'dag_runs', 'executions'] as const),
  ...(['blocked', 'limit_keys', 'waiting', 'retries', 'endings', 'ready'] as const),
]
type Table = (typeof lockOrder)[number]

export interface LockedRow {
  table: Table
  /** Sorts as the primary key does. */
  key: string
}

/** An operation held `held` while it waited for `wanted`. */
export interface Wait {
  held: LockedRow
  wanted: LockedRow
}

const keys: Partial<Record<Table, string>> = {
  idempotency: `tenant || '/' || route || '/' || key`,
  job_counts: 'tenant',
  dedupes: `tenant || '/' || key`,
  shards: `lpad(shard::text, 5, '0')`,
  schedules: 'job_id::text',
  flows: `pool || '/' || lane || '/' || tenant`,
  leases: `lpad(lease_id::text, 20, '0')`,
  limit_keys: 'key',
  ready: `pool || '/' || lane || '/' || lpad(tag::text, 20, '0')`,
}
const keyOf = (table: Table) => keys[table] ?? 'execution_id::text'
const nameOf = (row: LockedRow) => `${row.table} ${row.key}`

export class LockWatch {
  readonly #operator: Database
  readonly #blocker: Database
  readonly #observer: Database

  constructor(url: string) {
    const connect = () => new Database({ url, maxConnections: 1, statementTimeoutMs: 10_000, applicationName: 'watch' })
    this.#operator = connect()
    this.#blocker = connect()
    this.#observer = connect()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#operator.end(), this.#blocker.end(), this.#observer.end()])
  }

  async waits(operation: (database: Database) => Promise<unknown>): Promise<Wait[]> {
    const rows = await this.#rows('')
    const waits: Wait[] = []
    for (const wanted of await this.#locksOf(operation, rows)) {
      const held = await this.#heldWhileWaitingFor(wanted, operation, rows)
      waits.push(...held.map((row) => ({ held: row, wanted })))
    }
    return waits
  }

  async #locksOf(operation: (database: Database) => Promise<unknown>, rows: LockedRow[]): Promise<LockedRow[]> {
    await this.#operator.query(null, 'begin')
    await operation(this.#operator)
    const locked = await this.#locked(rows)
    await this.#operator.query(null, 'rollback')
    return locked
  }

  async #heldWhileWaitingFor(
    wanted: LockedRow,
    operation: (database: Database) => Promise<unknown>,
    rows: LockedRow[],
  ): Promise<LockedRow[]> {
    const { table, key } = wanted
    await this.#blocker.query(null, 'begin')
    await this.#blocker.query(null, `select from carillon.${table} where ${keyOf(table)} = $1 for update`, [key])
    const [me] = await this.#operator.query<{ pid: number }>(null, 'select pg_backend_pid() pid')
    await this.#operator.query(null, 'begin')
    let done = false
    const running = operation(this.#operator).finally(() => {
      done = true
    })
    let held: LockedRow[] = []
    while (!done) {
      const [state] = await this.#observer.query<{ waits: boolean }>(
        null,
        'select cardinality(pg_blocking_pids($1)) > 0 waits',
        [me!.pid],
      )
      if (!state!.waits) continue
      held = (await this.#locked(rows)).filter((row) => nameOf(row) !== nameOf(wanted))
      break
    }
    await this.#blocker.query(null, 'rollback')
    await running
    await this.#operator.query(null, 'rollback')
    return held
  }

  /** The rows that somebody has locked. */
  async #locked(rows: LockedRow[]): Promise<LockedRow[]> {
    const free = new Set((await this.#rows('for update skip locked')).map(nameOf))
    return rows.filter((row) => !free.has(nameOf(row)))
  }

  async #rows(lock: string): Promise<LockedRow[]> {
    const rows: LockedRow[] = []
    for (const table of lockOrder) {
      const sql = `select ${keyOf(table)} collate "C" key from carillon.${table} order by 1 ${lock}`
      for (const { key } of await this.#observer.query<{ key: string }>(null, sql)) rows.push({ table, key })
    }
    return rows
  }
}

/** The waits that go against the order, in words. */
export function againstOrder(waits: Wait[]): string[] {
  const rank = (row: LockedRow) => lockOrder.indexOf(row.table)
  const wrong = waits.filter(
    ({ held, wanted }) => rank(held) > rank(wanted) || (rank(held) === rank(wanted) && held.key > wanted.key),
  )
  return wrong.map(({ held, wanted }) => `held ${nameOf(held)}, waited for ${nameOf(wanted)}`)
}
