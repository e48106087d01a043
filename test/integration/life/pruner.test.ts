import { defineHandler } from '@carillon/server'
import pg from 'pg'
import { expect, it } from 'vitest'
import { Database } from '../../../packages/server/src/store/database.ts'
import { Pruner } from '../../../packages/server/src/upkeep/pruner.ts'
import { quickTimes, testCarillon } from '../../support/carillon.ts'

const noop = defineHandler<Record<string, never>>({ name: 'noop' })

it('removes deleted jobs and graphs and old versions once their history is gone, and nothing else', async () => {
  await using test = await testCarillon((carillon) => {
    carillon.handle(noop, async () => {})
  }, quickTimes)
  const { carillon, databaseUrl } = test
  const daily = (key: string, hour: number) => carillon.schedule(noop, {}, { key, cron: `0 ${hour} * * *` })
  const kept = await daily('kept', 1)
  await daily('kept', 2)
  const deleted = await daily('deleted', 1)
  await carillon.unschedule(deleted.jobId)
  await (await carillon.enqueue(noop, {}, { tenant: 'visitor' })).ended({ waitMs: 10_000 })

  const database = new Database({
    url: databaseUrl,
    maxConnections: 2,
    statementTimeoutMs: 5_000,
    applicationName: 't',
  })
  const sql = new pg.Client(databaseUrl)
  await sql.connect()
  const rows = async (table: string) => (await sql.query(`select from carillon.${table}`)).rowCount
  await sql.query(`insert into carillon.dags (dag_id, version, tenant, name, steps, state)
    select gen_random_uuid(), 1, 'default', state, '[]', state from unnest(array['ACTIVE', 'DELETED']) state`)
  const pruner = new Pruner({ database })
  await pruner.runOnce()
  expect([await rows('jobs'), await rows('job_versions'), await rows('dags')]).toEqual([2, 1, 2])
  await sql.query(`update carillon.dags set updated_at = updated_at - interval '40 days'`)
  await sql.query(`update carillon.jobs set updated_at = updated_at - interval '40 days'`)
  await sql.query(`update carillon.job_versions set replaced_at = replaced_at - interval '40 days'`)
  await sql.query(`insert into carillon.nodes values (gen_random_uuid(), 'gone', now() - interval '2 hours')`)
  await sql.query(`
    insert into carillon.lanes select pool, lane, max(finish) from carillon.flows group by pool, lane
    on conflict (pool, lane) do update set virtual_time = excluded.virtual_time`)
  await pruner.runOnce()
  expect([await rows('jobs'), await rows('schedules'), await rows('job_versions')]).toEqual([1, 1, 0])
  expect((await sql.query('select state from carillon.dags')).rows).toEqual([{ state: 'ACTIVE' }])
  expect([await rows('nodes'), await rows('flows')]).toEqual([1, 0])
  expect((await carillon.job(kept.jobId))?.version).toBe(2)
  // A tenant whose tags were forgotten goes on as before.
  await (await carillon.enqueue(noop, {}, { tenant: 'visitor' })).result({ waitMs: 10_000 })
  await sql.end()
  await database.end()
})
