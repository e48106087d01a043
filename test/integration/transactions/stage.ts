/** A node, a handler that keeps what it was given, and a look at the database. */
import { type Carillon, defineHandler } from '@carillon/server'
import pg from 'pg'
import { type TestCarillon, testCarillon } from '../../support/carillon.ts'

/** Keeps what it was given. */
export const note = defineHandler<unknown>({ name: 'note' })

export interface Stage {
  carillon: Carillon
  node: TestCarillon
  /** Outside every transaction. */
  admin: pg.Client
  /** What `note` was given, by execution; one entry for each run. */
  noted: Map<string, unknown[]>
  /** How many rows of each table name the execution. */
  rowsOf(executionId: string): Promise<Record<string, number>>
  [Symbol.asyncDispose](): Promise<void>
}

const tables = ['submissions', 'executions', 'ready', 'running', 'retries', 'waiting', 'endings']

export async function openStage(prepare: (carillon: Carillon) => void = () => {}): Promise<Stage> {
  const noted: Stage['noted'] = new Map()
  const node = await testCarillon(
    (carillon) => {
      carillon.handle(note, async (ctx) => {
        noted.set(ctx.executionId, [...(noted.get(ctx.executionId) ?? []), ctx.payload])
      })
      prepare(carillon)
    },
    { pollMs: 20, heartbeatEveryMs: 100, sweepEveryMs: 50 },
  )
  const admin = new pg.Client({ connectionString: node.databaseUrl })
  await admin.connect()
  return {
    carillon: node.carillon,
    node,
    admin,
    noted,
    async rowsOf(executionId) {
      const counts = tables.map((t) => `(select count(*)::int from carillon.${t} where execution_id = $1) ${t}`)
      const { rows } = await admin.query(`select ${counts.join()}`, [executionId])
      return Object.fromEntries(Object.entries<number>(rows[0]).filter(([, count]) => count > 0))
    },
    async [Symbol.asyncDispose]() {
      await admin.end()
      await node[Symbol.asyncDispose]()
    },
  }
}
