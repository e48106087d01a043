import { expect, it } from 'vitest'
import { Tail } from './tail.ts'

it('keeps the end, however it came in', () => {
  for (const size of [1, 3, 7, 100]) {
    const tail = new Tail(10)
    const text = Array.from({ length: 50 }, (_, i) => String(i % 10)).join('')
    for (let at = 0; at < text.length; at += size) tail.add(Buffer.from(text.slice(at, at + size)))
    expect(tail.toString()).toBe('0123456789')
    expect(tail.dropped).toBe(40)
  }
})

it('keeps all of what fits', () => {
  const tail = new Tail(10)
  tail.add(Buffer.from('abc'))
  expect([tail.toString(), tail.dropped]).toEqual(['abc', 0])
  expect([new Tail(10).toString(), new Tail(10).dropped]).toEqual(['', 0])
})
