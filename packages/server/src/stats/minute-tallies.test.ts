import { expect, test } from 'vitest'
import { MinuteTallies } from './minute-tallies.ts'

const work = (handler: string, pool = 'p', tenant = 't') => ({ tenant, pool, handler })
const rowsOf = (tallies: MinuteTallies) =>
  tallies.takeChanged().map(({ tenant, pool, handler, tally }) => `${tenant} ${pool} ${handler} ${tally.created}`)

test('what has changed comes with its sums, once', () => {
  const tallies = new MinuteTallies()
  tallies.of(work('a')).created += 2
  tallies.of(work('b')).created += 3
  tallies.of(work('c', 'acme\u001fq', 'acme')).created += 4
  expect(rowsOf(tallies)).toEqual(['t p a 2', 't p b 3', 't p  5', 't   5', 'acme q c 4', 'acme q  4', 'acme   4'])
  expect(tallies.hasChanged).toBe(false)
  tallies.of(work('a')).created += 1
  expect(rowsOf(tallies)).toEqual(['t p a 3', 't p  6', 't   6'])
})

test('what could not be written comes again', () => {
  const tallies = new MinuteTallies()
  tallies.of(work('a')).created += 2
  tallies.notWritten(tallies.takeChanged())
  expect(tallies.hasChanged).toBe(true)
  expect(rowsOf(tallies)).toEqual(['t p a 2', 't p  2', 't   2'])
})

test('a tenant with too many handlers has the rest as other, and its neighbour its own', () => {
  const tallies = new MinuteTallies()
  for (let i = 0; i < 1_000; i++) tallies.of(work(`h${i}`)).created += 1
  tallies.of(work('mine', 'p', 'neighbour')).created += 1
  const rows = rowsOf(tallies)
  expect(rows.filter((row) => row.startsWith('t '))).toHaveLength(204)
  expect(rows).toContain('t other other 800')
  expect(rows).toContain('t   1000')
  expect(rows).toContain('neighbour p mine 1')
})
