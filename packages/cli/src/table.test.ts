import { describe, expect, it } from 'vitest'
import { printable, table } from './table.ts'
import { duration, parseSpan, relative, when } from './times.ts'

const plain = { width: Number.POSITIVE_INFINITY, heading: (text: string) => text }

describe('a table', () => {
  const columns = [
    { header: 'NAME', value: (row: { name: string; n: number | null }) => row.name, flexible: true },
    { header: 'N', value: (row: { name: string; n: number | null }) => row.n, align: 'right' as const },
  ]

  it('is aligned, with a dash for nothing', () => {
    const rows = [
      { name: 'a', n: 10 },
      { name: 'long', n: null },
    ]
    expect(table(rows, columns, plain)).toBe('NAME   N\na     10\nlong   -')
  })

  it('is cut to the width of the terminal, first where it may give way', () => {
    const text = table([{ name: 'a name that is very long', n: 12345678 }], columns, { ...plain, width: 20 })
    expect(text).toBe('NAME               N\na name th…  12345678')
    const dispensable = [...columns, { header: 'MORE', value: () => 'left out', dispensable: 1 }]
    expect(table([{ name: 'a name that is very long', n: 12345678 }], dispensable, { ...plain, width: 20 })).toBe(text)
  })

  it('shows nothing that steers the terminal', () => {
    expect(printable('\u001b[31mred\u001b[0m\u001b]0;title\u0007 a\nb\u202e')).toBe('red a b\ufffd')
  })
})

describe('times', () => {
  it('durations in two units at most', () => {
    expect([840, 1_500, 12_000, 125_000, 7_500_000, 90_000_000].map(duration)).toEqual([
      ...['840 ms', '1.5 s', '12 s', '2 min 5 s', '2 h 5 min', '1 d 1 h'],
    ])
  })

  it('relative and absolute', () => {
    expect(relative(60_000, 0)).toBe('in 1 min')
    expect(relative(0, 5_000)).toBe('5 s ago')
    expect(relative(10, 0)).toBe('now')
    expect(when('2030-01-31T08:00:00Z', Date.UTC(2030, 0, 31, 7))).toBe('2030-01-31 08:00:00Z (in 1 h)')
  })

  it('spans need a unit', () => {
    expect(parseSpan('15m')).toBe(900_000)
    expect(() => parseSpan('15')).toThrow('unit')
  })
})
