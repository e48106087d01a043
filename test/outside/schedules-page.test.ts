/** Every worked example of docs/schedules.md, computed. */
import { readFileSync } from 'node:fs'
import type { DayFields, DstPolicy } from '@carillon/contract'
import { previewFires } from '@carillon/server/administration'
import { describe, expect, it } from 'vitest'

const page = readFileSync(new URL('../../docs/schedules.md', import.meta.url), 'utf8')
const examples = page
  .split('\n')
  .filter((line) => /^\| `.*` \| \S+ \| (EITHER|BOTH|(SHIFT|SKIP) (FIRST|SECOND|BOTH)) \|/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .map(([, schedule, zone, policy, after, fires]) => [schedule!, zone!, policy!, after!, fires!] as const)

describe('docs/schedules.md', () => {
  it('has examples', () => {
    expect(examples.length).toBeGreaterThanOrEqual(22)
  })

  it.each(examples)('%s in %s, %s, after %s', (schedule, timezone, policy, after, fires) => {
    const [first, second] = policy.split(' ')
    const dst = second === undefined ? {} : { gap: first as DstPolicy['gap'], overlap: second as DstPolicy['overlap'] }
    const days = second === undefined ? { dayFields: first as DayFields } : {}
    const times = /^\d{4}-/.test(schedule) ? { runAt: schedule } : { schedule, ...days }
    const from = `${after.replace(' ', 'T')}${after.includes(':') ? '' : 'T00:00'}:00Z`
    const count = fires.split(', ').length
    const found = previewFires({ ...times, timezone, dst, after: from, count }).fires.map(({ local }) => {
      return local.replace(/^(\S{10})T(\d\d:\d\d):00(.*)$/, '$1 $2 $3')
    })
    expect(found.join(', ')).toBe(fires)
  })
})
