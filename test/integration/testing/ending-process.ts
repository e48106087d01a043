/** A program that tests with a PostgreSQL of its own and then has nothing more to do. It must end by itself. */
import { defineHandler } from '@carillon/server'
import { createTestCarillon, implementHandler } from '@carillon/server/testing'
import pg from 'pg'

const tick = defineHandler({ name: 'tick' })

async function main(): Promise<void> {
  const handlers = [implementHandler(tick, async () => null)]
  await using carillon = await createTestCarillon({ now: '2026-01-01T00:00:00Z', handlers })
  await carillon.schedule(tick, null, { cron: '0 * * * *' })
  await carillon.advance('P1D')
  const client = new pg.Client({ connectionString: carillon.databaseUrl })
  await client.connect()
  const { rows } = await client.query(`select pg_read_file('postmaster.pid') file`)
  await client.end()
  process.stdout.write(JSON.stringify({ runs: carillon.runs().length, server: Number(rows[0].file.split('\n')[0]) }))
}

await main()
