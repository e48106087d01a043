import { defineHandler } from '@carillon/server'
import pg from 'pg'
import { expect, it } from 'vitest'
import { quickTimes, testCarillon } from '../../support/carillon.ts'

const here = defineHandler<Record<string, never>>({ name: 'here', pool: 'resting' })
const there = defineHandler<Record<string, never>>({ name: 'there' })

it('nothing is leased from a pool that is paused, and other pools go on', async () => {
  await using test = await testCarillon((carillon) => {
    carillon.handle(here, async () => 'ran')
    carillon.handle(there, async () => 'ran')
  }, quickTimes)
  const sql = new pg.Client(test.databaseUrl)
  await sql.connect()
  const pause = (paused: boolean) => sql.query(`update carillon.pools set paused = $1 where pool = 'resting'`, [paused])
  await pause(true)
  const waiting = await test.carillon.enqueue(here, {})
  for (let i = 0; i < 5; i++) await (await test.carillon.enqueue(there, {})).result({ waitMs: 10_000 })
  expect(await waiting.execution()).toMatchObject({ state: 'PENDING' })
  await pause(false)
  expect(await waiting.result({ waitMs: 10_000 })).toBe('ran')
  await sql.end()
})
