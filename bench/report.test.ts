import { expect, it } from 'vitest'
import { documentOf, exitCodeOf, type Report, tableOf } from './report.ts'
import { judged } from './scenario.ts'

const report: Report = {
  scenario: 'life',
  results: [
    judged({
      name: 'life',
      value: 17_000,
      unit: '/s',
      target: 16_700,
      better: 'higher',
      detail: { min: 16_900, how: 'x' },
    }),
    judged({ name: 'life p99', value: 60.5, unit: 'ms', target: 50, better: 'lower' }),
    judged({ name: 'life rows', value: 5, unit: 'rows', target: null, better: 'higher' }),
  ],
  machine: {
    ...{ cpu: 'C', cores: 2, memoryGb: 8, os: 'Linux', node: 'v26', postgres: '18', fileSystem: 'ext4' },
    ...{ loopMs: [50, 60] as [number, number], stolenPercent: 1.5 },
  },
  commit: 'abc',
}

it('writes one line of JSON with the keys that were promised', () => {
  const text = documentOf(report)
  const document = JSON.parse(text)
  expect(text).not.toContain('\n')
  expect(Object.keys(document)).toEqual(['scenario', 'results', 'machine', 'commit'])
  expect(document.results).toEqual([
    { name: 'life', value: 17_000, unit: '/s', target: 16_700, ok: true, detail: { min: 16_900, how: 'x' } },
    { name: 'life p99', value: 60.5, unit: 'ms', target: 50, ok: false },
    { name: 'life rows', value: 5, unit: 'rows', target: null, ok: null },
  ])
})

it('prints a table for people', () => {
  expect(tableOf(report)).toBe(
    [
      'what           value       target',
      'life       17,000 /s  ≥ 16,700 /s  reached',
      '    min 16,900 · how x',
      'life p99     60.5 ms      ≤ 50 ms  MISSED',
      'life rows     5 rows',
      '',
      'C, 2 cores, 8 GB, Linux, ext4; Node v26, PostgreSQL 18; abc',
      'a fixed loop took 50 ms before and 60 ms after; 1.5 % of the time was taken by others',
    ].join('\n'),
  )
})

it('ends with 1 when a target was missed', () => {
  expect(exitCodeOf(report.results)).toBe(1)
  expect(exitCodeOf(report.results.filter(({ ok }) => ok !== false))).toBe(0)
})
