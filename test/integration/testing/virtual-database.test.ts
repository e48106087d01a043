import { expect, it } from 'vitest'
import { VirtualClock } from '../../../packages/server/src/testing/time.ts'
import { VirtualDatabase } from '../../../packages/server/src/testing/virtual-database.ts'
import { createDatabase } from '../../support/postgres.ts'

it('the time does not change while a statement is under way', async () => {
  const { url, drop } = await createDatabase()
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  const database = new VirtualDatabase(url, clock)
  const events: string[] = []
  const slow = database.query(null, 'select pg_sleep(0.2)').then(() => events.push('answered'))
  const failing = database.query(null, 'select 1 / 0').catch(() => events.push('failed'))
  await database.setTime(Date.UTC(2026, 0, 2)).then(() => events.push('set'))
  await Promise.all([slow, failing])
  expect(events).toEqual(['failed', 'answered', 'set'])
  expect(database.now).toEqual(new Date('2026-01-02T00:00:00Z'))
  await database.end()
  await drop()
})
