import { expect, it } from 'vitest'
import { hunksOf, lineDiff } from './line-diff.ts'

const shown = (before: string, after: string) => lineDiff(before, after).map(({ sign, text }) => sign + text)

it('keeps what both have and marks the rest', () => {
  expect(shown('a\nb\nc\nd', 'a\nx\nc\nd\ne')).toEqual([' a', '-b', '+x', ' c', ' d', '+e'])
  expect(shown('a\nb', 'a\nb')).toEqual([' a', ' b'])
  expect(shown('a\na\nb', 'a\nb')).toEqual([' a', '-a', ' b'])
})

it('applied to the one text it makes the other', () => {
  const before = Array.from({ length: 60 }, (_, n) => `line ${(n * 7) % 11}`).join('\n')
  const after = Array.from({ length: 50 }, (_, n) => `line ${(n * 5) % 11}`).join('\n')
  const lines = lineDiff(before, after)
  const only = (sign: string) => lines.filter((line) => line.sign !== sign).map(({ text }) => text)
  expect(only('+').join('\n')).toBe(before)
  expect(only('-').join('\n')).toBe(after)
})

it('shows only what is near a change, and how much it leaves out', () => {
  const before = Array.from({ length: 20 }, (_, n) => `${n}`)
  const hunks = hunksOf(lineDiff(before.join('\n'), before.with(10, 'x').join('\n')))
  expect(hunks).toHaveLength(1)
  expect(hunks[0]).toMatchObject({ skipped: 8 })
  expect(hunks[0]!.lines.map(({ text }) => text)).toEqual(['8', '9', '10', 'x', '11', '12'])
})
