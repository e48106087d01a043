import { expect, test } from 'vitest'
import { PoolSlots } from '../running/handler-slots.ts'
import { Prefetch } from './prefetch.ts'

function measured(perMs: number, roundTripMs: number): number {
  let now = 0
  const pool = new PoolSlots('default')
  const prefetch = new Prefetch({ now: () => now }, pool, undefined)
  for (let turn = 0; turn < 200; turn++) {
    now += 10
    pool.finished += perMs * 10
    prefetch.current(roundTripMs)
  }
  return prefetch.current(roundTripMs)
}

test('prefetch follows the pool’s speed: none for slow handlers, bounded for the fastest', () => {
  expect(measured(0, 2)).toBe(0)
  expect(measured(0.01, 2)).toBe(0)
  expect(measured(10, 2)).toBeGreaterThan(200)
  expect(measured(10, 20)).toBeGreaterThan(measured(10, 2))
  expect(measured(1_000, 2)).toBe(1_000)
})

test('prefetch stays as it was set', () => {
  expect(new Prefetch({ now: () => 0 }, new PoolSlots('default'), 3).current(100)).toBe(3)
})

test('room is what fits into slots and prefetch', () => {
  const pool = new PoolSlots('default')
  pool.slots = 4
  expect(pool.room(2)).toEqual({ slots: 4, prefetch: 2 })
  pool.unfinished = 5
  expect(pool.room(2)).toEqual({ slots: 0, prefetch: 1 })
  pool.unfinished = 9
  expect(pool.room(2)).toEqual({ slots: 0, prefetch: 0 })
})
