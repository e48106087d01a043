import { describe, expect, it } from 'vitest'
import { parseRate, rateText } from './rates.ts'

describe('parseRate', () => {
  it.each([
    ['100/1s', { count: 100, perSec: 1 }],
    ['100/10s', { count: 100, perSec: 10 }],
    ['5/m', { count: 5, perSec: 60 }],
    ['1000/24h', { count: 1_000, perSec: 86_400 }],
  ])('takes %s', (text, rate) => {
    expect(parseRate(text)).toEqual(rate)
  })

  it.each(['', '100', '100/', '/s', '1.5/s', '100/1d', '100 / s', '-1/s'])('refuses %j', (text) => {
    expect(() => parseRate(text)).toThrow('such as 100/10s')
  })
})

it('rateText writes what parseRate reads', () => {
  expect(rateText(parseRate('7/2m'))).toBe('7/120s')
  expect(rateText(null)).toBe('')
})
