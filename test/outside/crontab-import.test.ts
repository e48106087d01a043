/**
 * What `carillon import crontab` makes of the two day fields, against what cron does with them: with and without a leading
 * star, in lists, ranges and steps.
 */
import { describe, expect, it } from 'vitest'
import { parseCrontab } from '../../packages/cli/src/crontab/parse.ts'
import { importLines } from '../../packages/cli/src/crontab/to-manifest.ts'
import { previewFires } from '../../packages/server/src/administration/index.ts'
import { readVectors } from './vectors/read.ts'

const options = { managedBy: 'crontab', timezone: 'UTC', target: 'handler', checkSchedule: () => null } as const
const vectors = readVectors('crontab-days.txt')

describe('imported day fields', () => {
  it('fire on the days that cron fires on', () => {
    expect(vectors.length).toBeGreaterThan(100)
    const differences = vectors.flatMap(([expression, from, next]) => {
      const { lines } = parseCrontab(`${expression} x`, { system: false })
      const [imported] = importLines(lines, options).jobs
      const { schedule, dayFields } = imported!.job
      const count = next!.split(' ').length
      const fires = previewFires({ schedule: schedule!, ...(dayFields && { dayFields }), after: from!, count }).fires
      const found = fires.map(({ scheduledFor }) => scheduledFor.toISOString().replace('.000', '')).join(' ')
      return found === next ? [] : [`${expression} from ${from}: ${found}, not ${next}`]
    })
    expect(differences).toEqual([])
  })

  it('say so wherever the meaning is not that of the same five fields here', () => {
    const starred = vectors.filter(([expression]) => / \*\/\d+ \* (?!\*)| (?!\*)\S+ \* \*\/\d+$/.test(expression!))
    expect(starred.length).toBeGreaterThan(20)
    for (const [expression] of starred) {
      const { jobs, notes } = importLines(parseCrontab(`${expression} x`, { system: false }).lines, options)
      expect([expression, jobs[0]!.job.dayFields, notes.length]).toEqual([expression, 'BOTH', 1])
    }
  })
})
