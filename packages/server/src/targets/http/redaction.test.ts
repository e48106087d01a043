import { expect, it } from 'vitest'
import { Redaction } from './redaction.ts'

it('takes secrets out, also as JSON writes them, and the part after the scheme', () => {
  const redaction = new Redaction(['Bearer abcdefgh"ij', 'k1k1'])
  expect(redaction.clean('a Bearer abcdefgh"ij b')).toBe('a [secret] b')
  expect(redaction.clean('{"t":"Bearer abcdefgh\\"ij"}')).toBe('{"t":"[secret]"}')
  expect(redaction.clean('token=abcdefgh"ij&k=k1k1')).toBe('token=[secret]&k=[secret]')
})

it('leaves texts alone that only hold what anything could', () => {
  expect(new Redaction(['abc', '']).clean('abc')).toBe('abc')
  expect(new Redaction(['Basic dXNlcjpwYXNz']).clean('Basic things')).toBe('Basic things')
})
