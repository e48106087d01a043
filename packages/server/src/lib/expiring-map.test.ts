import { expect, it } from 'vitest'
import { ExpiringMap } from './expiring-map.ts'

it('knows a thing until its time', () => {
  const map = new ExpiringMap<string, number>(10)
  map.set('a', 1, 100)
  expect(map.get('a', 99)).toBe(1)
  expect(map.get('a', 100)).toBeUndefined()
  expect(map.size).toBe(0)
})

it('makes room by forgetting what was put in first', () => {
  const map = new ExpiringMap<string, number>(2)
  map.set('a', 1, 100)
  map.set('b', 2, 100)
  map.set('a', 3, 100)
  map.set('c', 4, 100)
  expect(['a', 'b', 'c'].map((key) => map.get(key, 0))).toEqual([3, undefined, 4])
})
