import { CarillonError, defineHandler } from '@carillon/server'
import { createTestCarillon, implementHandler } from '@carillon/server/testing'
import { expect, inject, it } from 'vitest'
import { testCarillonAt } from './test-carillon.test-support.ts'

const now = '2026-01-01T00:00:00Z'
const work = defineHandler({ name: 'work' })
const unknown = defineHandler({ name: 'wrok' })
const working = implementHandler(work, async () => null)

function refusal(code: string, words: RegExp) {
  return expect.objectContaining({ constructor: CarillonError, code, message: expect.stringMatching(words) })
}

it('mistakes are refused with what to do', async () => {
  await using carillon = await testCarillonAt(now, { handlers: [working] })
  await expect(carillon.advance(-1)).rejects.toEqual(refusal('VALIDATION', /backwards/))
  await expect(carillon.advance('a while')).rejects.toEqual(refusal('VALIDATION', /not a duration/))
  await expect(carillon.advanceTo('2025-12-31T23:59:59Z')).rejects.toEqual(refusal('VALIDATION', /backwards/))
  await expect(carillon.advanceTo('noon')).rejects.toEqual(refusal('VALIDATION', /not an instant/))
  const wrong = refusal('VALIDATION', /no handler wrok/)
  await expect(carillon.enqueue(unknown, null)).rejects.toEqual(wrong)
  await expect(carillon.schedule(unknown, null, { every: 'PT1H' })).rejects.toEqual(wrong)
  await expect(carillon.createJob({ type: 'ONE_SHOT', target: { handler: 'wrok' } })).rejects.toEqual(wrong)
  expect(() => carillon.crash('BEFORE_COMMIT', { handler: unknown })).toThrow(/no handler wrok/)
  expect(() => carillon.crash('DURING_LUNCH' as never)).toThrow(/not known/)
  expect(() => carillon.deliverTwice({ handler: 'wrok' })).toThrow(/no handler wrok/)
  expect(carillon.now()).toEqual(new Date(now))
  expect(carillon.runs()).toEqual([])
})

it('time is moved by one at a time', async () => {
  let inside: Promise<void> = Promise.resolve()
  const moving = implementHandler(work, async () => {
    inside = carillon.advance('PT1H')
    await inside.catch(() => {})
  })
  await using carillon = await testCarillonAt(now, { handlers: [moving] })
  // Due while time is moved, so that the handler cannot be the first to move it.
  await carillon.enqueue(work, null, { runAt: '2026-01-01T00:00:30Z' })
  const first = carillon.advance('PT1M')
  await expect(carillon.drain()).rejects.toEqual(refusal('STATE_CONFLICT', /already/))
  await first
  await expect(inside).rejects.toEqual(refusal('STATE_CONFLICT', /already/))
})

it('nothing works after the end', async () => {
  const carillon = await testCarillonAt(now, { handlers: [working] })
  await Promise.all([carillon.close(), carillon.close()])
  const closed = refusal('STATE_CONFLICT', /closed/)
  await expect(carillon.advance('PT1H')).rejects.toEqual(closed)
  await expect(carillon.drain()).rejects.toEqual(closed)
  await expect(carillon.enqueue(work, null)).rejects.toEqual(closed)
  await expect(carillon.deadLetters()).rejects.toEqual(closed)
  expect(() => carillon.now()).toThrow(/closed/)
  expect(() => carillon.crash('BEFORE_COMMIT')).toThrow(/closed/)
})

it.each([
  [{ now: 'today' }, /not an instant/],
  [{}, /not an instant/],
  [{ now, settleMs: 0 }, /whole number/],
  [{ now, handler: working }, /Did you mean handlers\?/],
  [{ now, handlers: [work] }, /not a handler/],
  [{ now, databaseUrl: 'here' }, /not a URL/],
])('%j', async (options, words) => {
  const wanted = { databaseUrl: inject('postgresUrl'), ...options }
  await expect(createTestCarillon(wanted as never)).rejects.toEqual(refusal('VALIDATION', words))
})
