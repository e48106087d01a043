import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { note, openStage, type Stage } from './stage.ts'

let stage: Stage
const open: pg.Client[] = []
beforeAll(async () => {
  stage = await openStage()
})
afterAll(async () => {
  for (const client of open) await client.end()
  await stage[Symbol.asyncDispose]()
})

async function begin(options = ''): Promise<pg.Client & { pid: number }> {
  const client = new pg.Client({ connectionString: stage.node.databaseUrl })
  open.push(client)
  await client.connect()
  await client.query(`begin ${options}`)
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() pid')
  return Object.assign(client, rows[0]!)
}

interface Lock {
  kind: string
  table: string | null
  mode: string
  granted: boolean
}

async function locksOf(pid: number): Promise<Lock[]> {
  const sql = `
    select l.locktype kind, coalesce(t.relname, c.relname) "table", l.mode, l.granted
    from pg_locks l left join pg_class c on c.oid = l.relation
      left join pg_index i on i.indexrelid = c.oid left join pg_class t on t.oid = i.indrelid
    where l.pid = $1`
  return (await stage.admin.query<Lock>(sql, [pid])).rows
}

const whatQuotasRead = (read: object) => ['tenants', 'job_counts'].filter((table) => table in read)

it.each(['', 'isolation level repeatable read', 'isolation level serializable'])(
  'two open transactions that enqueued the same do not meet: begin %s',
  async (options) => {
    const { carillon } = stage
    const callers = [await begin(options), await begin(options)]
    const handles = []
    // If one waited for the other, this would not come to its end.
    for (const tx of [...callers, ...callers]) handles.push(await carillon.enqueue(note, 'the same', { tx }))
    for (const { pid } of callers) {
      const locks = await locksOf(pid)
      expect(locks.filter((lock) => !lock.granted)).toEqual([])
      // No advisory lock, and of tables only locks that nothing but a change of the table itself would wait for.
      const kinds = new Set(locks.map((lock) => lock.kind))
      expect(kinds.isSubsetOf(new Set(['relation', 'virtualxid', 'transactionid', 'page', 'tuple']))).toBe(true)
      const modesOf = Object.groupBy(
        locks.filter((lock) => lock.table !== null && lock.mode !== 'SIReadLock'),
        (lock) => lock.table!,
      )
      const { submissions, ...read } = modesOf
      // What is still to come, be it by a millisecond between two clocks, is held against the tenant's quota.
      expect(new Set(Object.keys(read))).toEqual(new Set(['installation', 'pools', ...whatQuotasRead(read)]))
      expect(new Set(submissions!.map((lock) => lock.mode))).toEqual(new Set(['RowExclusiveLock']))
      for (const locks of Object.values(read)) {
        expect(new Set(locks!.map((lock) => lock.mode))).toEqual(new Set(['AccessShareLock']))
      }
    }
    for (const client of callers) await client.query('commit')
    for (const handle of handles) await expect(handle.ended({ waitMs: 10_000 })).resolves.toMatchObject({ attempt: 1 })
  },
)

it('nobody waits for an open transaction while others come and go', async () => {
  const { carillon, admin } = stage
  const keeper = await begin()
  const kept = await carillon.enqueue(note, 'kept', { tx: keeper })
  const others = await Promise.all(Array.from({ length: 20 }, () => carillon.enqueue(note, 'other')))
  const callers = await Promise.all(Array.from({ length: 5 }, () => begin()))
  for (const tx of callers) others.push(await carillon.enqueue(note, 'other', { tx }))
  await Promise.all(callers.map((client) => client.query('commit')))
  for (const other of others) await other.result({ waitMs: 10_000 })
  const { rows } = await admin.query('select pid from pg_stat_activity where $1 = any (pg_blocking_pids(pid))', [
    keeper.pid,
  ])
  expect(rows).toEqual([])
  await keeper.query('commit')
  await kept.result({ waitMs: 10_000 })
})
