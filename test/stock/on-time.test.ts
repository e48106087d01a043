/** One cron a second with one worker, on PostgreSQL as it is installed: everything runs, and soon. */
import { defineHandler } from '@carillon/server'
import pg from 'pg'
import { expect, inject, it } from 'vitest'
import { testCarillon } from '../support/carillon.ts'
import { until } from '../support/until.ts'

const seconds = 20

it('the server is one that compiles statements', async () => {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  const { rows } = await client.query(`select current_setting('jit') jit, pg_jit_available() available`)
  await client.end()
  expect(rows).toEqual([{ jit: 'on', available: true }])
})

it('a cron of every second runs every second', async () => {
  const tick = defineHandler<object>({ name: 'tick' })
  const runs: { late: number }[] = []
  await using test = await testCarillon((carillon) => {
    carillon.handle(tick, async (ctx) => void runs.push({ late: Date.now() - ctx.scheduledFor.getTime() }))
  })
  await test.carillon.schedule(tick, {}, { key: 'every second', cron: '* * * * * *', timezone: 'UTC' })
  await until(() => runs.length >= seconds, (seconds + 15) * 1_000)
  const lates = runs.map(({ late }) => late).sort((a, b) => a - b)
  expect(lates[Math.floor(lates.length / 2)]).toBeLessThan(1_000)
  expect(lates.at(-1)).toBeLessThan(5_000)
  const client = new pg.Client({ connectionString: test.databaseUrl })
  await client.connect()
  const { rows } = await client.query(
    `select count(*)::int n from carillon.executions where state is not null and state <> 'SUCCEEDED'`,
  )
  await client.end()
  expect(rows[0].n).toBe(0)
})
