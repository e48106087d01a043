import { expect, it } from 'vitest'
import { quantile, quantiles } from './quantiles.ts'

const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)

it('answers values that were measured', () => {
  expect(quantiles(hundred, [0, 0.5, 0.99, 0.991, 1])).toEqual([1, 50, 99, 100, 100])
  expect(quantile([7], 0.99)).toBe(7)
})

it('leaves what it was given as it was', () => {
  const values = [3, 1, 2]
  quantile(values, 0.5)
  expect(values).toEqual([3, 1, 2])
})

it('has no answer for none', () => {
  expect(quantile([], 0.5)).toBeNaN()
})
