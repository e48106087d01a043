/** What the calendar says is what runs: hour steps, day fields and local one-shots on the engine itself. */
import { defineHandler } from '@carillon/server'
import { implementHandler } from '@carillon/server/testing'
import { expect, it } from 'vitest'
import { starts, testCarillonAt } from './test-carillon.test-support.ts'

const tick = defineHandler({ name: 'tick' })
const handlers = [implementHandler(tick, async () => null)]

it('midnight in Havana, which does not exist, runs at one', async () => {
  await using carillon = await testCarillonAt('2027-03-13T12:00:00Z', { handlers })
  await carillon.schedule(tick, null, { cron: '0 */12 * * *', timezone: 'America/Havana' })
  await carillon.advanceTo('2027-03-15T06:00:00Z')
  expect(starts(carillon)).toEqual([
    ...['2027-03-13T17:00:00.000Z', '2027-03-14T05:00:00.000Z', '2027-03-14T16:00:00.000Z', '2027-03-15T04:00:00.000Z'],
  ])
})

it('both day fields', async () => {
  await using carillon = await testCarillonAt('2026-02-01T00:00:00Z', { handlers })
  await carillon.schedule(tick, null, { cron: '0 0 13 * FRI', dayFields: 'BOTH' })
  await carillon.advanceTo('2026-04-01T00:00:00Z')
  expect(starts(carillon)).toEqual(['2026-02-13T00:00:00.000Z', '2026-03-13T00:00:00.000Z'])
})

it('a submission at a local time, and a job', async () => {
  await using carillon = await testCarillonAt('2026-10-30T00:00:00Z', { handlers })
  const local = { runAt: '2026-11-01T01:30:00', timezone: 'America/New_York' }
  await carillon.enqueue(tick, null, { ...local, dst: { overlap: 'SECOND' } })
  const job = await carillon.createJob({ type: 'ONE_SHOT', ...local, target: { handler: 'tick' } })
  expect(job).toMatchObject({ runAt: new Date('2026-11-01T05:30:00Z'), runAtLocal: '2026-11-01T01:30:00' })
  await carillon.advanceTo('2026-11-02T00:00:00Z')
  expect(starts(carillon)).toEqual(['2026-11-01T05:30:00.000Z', '2026-11-01T06:30:00.000Z'])
})
