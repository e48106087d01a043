import { defineHandler } from '@carillon/server'
import { implementHandler } from '@carillon/server/testing'
import { expect, it } from 'vitest'
import { starts, testCarillonAt } from './test-carillon.test-support.ts'

const tick = defineHandler({ name: 'tick' })
const seen: Date[] = []
const ticking = implementHandler(tick, async (ctx) => {
  seen.push(ctx.now())
  return ctx.scheduledFor.toISOString()
})
const handlers = [ticking]

it('a month of a daily job passes in well under a second', async () => {
  await (await testCarillonAt('2026-01-01T00:00:00Z', { handlers })).close() // the template is there from now on
  const began = performance.now()
  await using carillon = await testCarillonAt('2026-01-01T00:00:00Z', { handlers })
  const created = performance.now()
  await carillon.createJob({ type: 'CRON', schedule: '0 3 * * *', target: { handler: 'tick' } })
  await carillon.advance('P30D')
  const advanced = performance.now()
  expect(carillon.runs()).toHaveLength(30)
  expect(carillon.runs().every(({ outcome }) => outcome === 'SUCCEEDED')).toBe(true)
  const figures = { createMs: Math.round(created - began), monthMs: Math.round(advanced - created) }
  console.info(`test Carillon: ${JSON.stringify(figures)}`)
})

it('each run comes at its time, to the millisecond, and the handler sees that time', async () => {
  await using carillon = await testCarillonAt('2026-03-27T12:00:00Z', { handlers })
  seen.length = 0
  const at = { timezone: 'Europe/Berlin', target: { handler: 'tick' } } as const
  const job = await carillon.createJob({ type: 'CRON', schedule: '30 2 * * *', ...at })
  expect(job).toMatchObject({ state: 'ACTIVE', nextFireAt: new Date('2026-03-28T01:30:00Z') })
  await carillon.advanceTo('2026-03-30T00:30:00Z')
  const times = ['2026-03-28T01:30:00.000Z', '2026-03-29T01:30:00.000Z', '2026-03-30T00:30:00.000Z']
  expect(starts(carillon)).toEqual(times)
  expect(seen.map((date) => date.toISOString())).toEqual(times)
  // 02:30 does not exist that night: it runs at 03:30, which is what its execution is for.
  expect(carillon.runs().map(({ result }) => result)).toEqual(times)
  expect(await carillon.executionsOf(job.jobId)).toMatchObject([
    { state: 'SUCCEEDED', latenessMs: 0, firedAt: new Date(times[2]!), startedAt: new Date(times[2]!) },
    {},
    {},
  ])
})

it('time stands still between two calls, and goes on from there', async () => {
  await using carillon = await testCarillonAt('2026-01-01T00:00:00Z', { handlers })
  await carillon.schedule(tick, null, { every: 'PT10M' })
  await carillon.advance({ minutes: 5 })
  expect(carillon.now()).toEqual(new Date('2026-01-01T00:05:00Z'))
  const before = carillon.runs().length
  await carillon.drain()
  expect(carillon.now()).toEqual(new Date('2026-01-01T00:05:00Z'))
  await carillon.advance(15 * 60_000)
  expect(carillon.runs().length - before).toBe(2)
})

it('of one instant, what was created first is shown first', async () => {
  await using carillon = await testCarillonAt('2026-01-01T00:00:00Z', { handlers })
  const ids: string[] = []
  for (let n = 0; n < 8; n++) {
    ids.push((await carillon.schedule(tick, null, { cron: '0 * * * *', name: `job ${n}` })).jobId)
  }
  await carillon.advance('PT2H')
  expect(carillon.runs().map(({ jobId }) => jobId)).toEqual([...ids, ...ids])
})

it('what passes in a pause is on record, and does not run', async () => {
  await using carillon = await testCarillonAt('2026-01-01T00:00:00Z', { handlers })
  const { jobId } = await carillon.schedule(tick, null, { cron: '0 * * * *' })
  await carillon.pause(jobId)
  await carillon.advance('PT3H')
  await carillon.resume(jobId)
  await carillon.advance('PT1H')
  expect(starts(carillon)).toEqual(['2026-01-01T04:00:00.000Z'])
  expect(await carillon.executionsOf(jobId)).toContainEqual(
    expect.objectContaining({ state: 'SKIPPED', reason: 'PAUSED' }),
  )
})

it.each([
  ['FIRE_ONCE', ['2026-01-01T03:00:00.000Z']],
  ['FIRE_ALL', ['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z', '2026-01-01T03:00:00.000Z']],
  ['SKIP', []],
] as const)('after an outage, %s', async (misfire, expected) => {
  await using carillon = await testCarillonAt('2026-01-01T00:30:00Z', { handlers })
  await carillon.schedule(tick, null, { cron: '0 * * * *', misfire })
  await carillon.outage('PT3H')
  expect(carillon.runs().map((run) => run.scheduledFor.toISOString())).toEqual(expected)
  expect(starts(carillon).every((at) => at === '2026-01-01T03:30:00.000Z')).toBe(true)
})

it('each has its own time and its own database', async () => {
  const years = [2020, 2030, 2040]
  const all = await Promise.all(years.map((year) => testCarillonAt(`${year}-01-01T00:00:00Z`, { handlers })))
  await Promise.all(all.map((carillon) => carillon.schedule(tick, null, { key: 'the same', cron: '0 12 1 * *' })))
  await Promise.all(all.map((carillon) => carillon.advance('P1M')))
  expect(all.map(starts)).toEqual(years.map((year) => [`${year}-01-01T12:00:00.000Z`]))
  await Promise.all(all.map((carillon) => carillon.close()))
})

it('ten years pass as well, and what is far away comes in its time', async () => {
  await using carillon = await testCarillonAt('2026-01-01T00:00:00Z', { handlers })
  await carillon.enqueue(tick, null, { runAt: '2035-06-01T00:00:00Z' })
  await carillon.advance('P10Y')
  expect(starts(carillon)).toEqual(['2035-06-01T00:00:00.000Z'])
})
