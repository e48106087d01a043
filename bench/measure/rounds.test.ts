import { expect, it } from 'vitest'
import type { Bench } from '../scenario.ts'
import { inTurns, resultOf, shortNumber, spreadOf, tidy } from './rounds.ts'

const what = { name: 'drain', unit: '/s', target: 100, better: 'higher' } as const

it('tells the median, never the best', () => {
  expect(spreadOf([30, 10, 20])).toEqual({ median: 20, min: 10, max: 30 })
  expect(spreadOf([10, 20])).toEqual({ median: 10, min: 10, max: 20 })
})

it('makes one result out of its rounds', () => {
  const cpu = { node: 10, worker: 20, postgres: 30, generator: 0, other: 0 }
  const rounds = [
    { value: 90, cpu, count: 1_000, detail: { late: 5, form: 'a' } },
    { value: 120, cpu: { ...cpu, node: 30 }, count: 1_000, detail: { late: 7, form: 'b' } },
    { value: 110, cpu: { ...cpu, node: 20 }, count: 1_000, detail: { late: 6, form: 'c' } },
  ]
  const { value, ok, detail } = resultOf({ ...what, detail: { executions: 1_000 } }, rounds)
  expect({ value, ok }).toEqual({ value: 110, ok: true })
  expect(detail).toMatchObject({ rounds: 3, min: 90, max: 120, late: 6, form: 'c', executions: 1_000 })
  expect(detail).toMatchObject({ 'cpu node µs': 20, 'cpu worker µs': 20, 'cpu postgres µs': 30 })
})

it('takes turns, and none is always the first', async () => {
  const bench = { rounds: 3, progress: () => {} } as unknown as Bench
  const [a, b] = [{ name: 'a' }, { name: 'b' }]
  const order: string[] = []
  const measured = await inTurns(bench, [a, b], { unit: '/s', valueOf: Number }, async ({ name }) => order.push(name))
  expect(order.join('')).toBe('abbaab')
  expect([measured.get(a), measured.get(b)]).toEqual([
    [1, 4, 5],
    [2, 3, 6],
  ])
})

it('judges by which side is better, and not at all without a target', () => {
  const lower = { ...what, better: 'lower' } as const
  const okOf = (result: Parameters<typeof resultOf>[0], value: number) => resultOf(result, [{ value }]).ok
  expect([okOf(what, 99), okOf(what, 100), okOf(lower, 100), okOf(lower, 101)]).toEqual([false, true, true, false])
  expect(okOf({ ...what, target: null }, 1)).toBeNull()
})

it('misses its target when nothing was measured', () => {
  expect(resultOf(what, []).ok).toBe(false)
  expect(resultOf({ ...what, better: 'lower' }, []).ok).toBe(false)
})

it('keeps four digits', () => {
  expect([tidy(12_345.678), tidy(1.23456), tidy(0.000123456)]).toEqual([12_346, 1.235, 0.0001235])
  expect([shortNumber(12_345.678), shortNumber(0.5)]).toEqual(['12,346', '0.5'])
})
