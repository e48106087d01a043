/**
 * What other projects say a cron expression means: facts (expression, from, expected), not code. Cronos and cron-utils
 * state them in their tests; those of croniter 6.2 were computed with it, over generated ranges that wrap around. croner and
 * cron-parser, which refuse such ranges, are asked directly in `packages/server/src/domain/schedule/cron-differential.test.ts`.
 * Cronos matches BOTH day fields, the others EITHER. A step through the wrap is counted from the start of its range, as
 * Cronos does; croniter loses count there by one (its `22-2/4` never comes to 2) and is asked without steps.
 */
import type { DayFields } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { compileSchedule, unbounded, upcoming } from '../../packages/server/src/domain/schedule/schedule.ts'
import { readVectors } from './vectors/read.ts'

const vectors = readVectors('cron.txt')

function differs([, expression, timezone, dayFields, from, next]: string[]): string[] {
  const dst = { gap: 'SHIFT', overlap: 'FIRST' } as const
  const spec = { type: 'CRON', expression: expression!, timezone: timezone!, dst, dayFields: dayFields as DayFields }
  const after = from!.startsWith('=') ? Date.parse(from!.slice(1)) - 1 : Date.parse(from!)
  const expected = next!.split(' ')
  const found = upcoming(compileSchedule(spec as never), unbounded, after, expected.length)
    .map((at) => new Date(at).toISOString().replace('.000', ''))
    .join(' ')
  return found === next ? [] : [`${expression} from ${from}: ${found}, not ${next}`]
}

describe('the same as in other projects', () => {
  it.each([
    ['Cronos', 100],
    ['cron-utils', 8],
    ['croniter', 200],
  ])('%s', (project, least) => {
    const theirs = vectors.filter(([name]) => name === project)
    expect(theirs.length).toBeGreaterThanOrEqual(least)
    expect(theirs.flatMap(differs)).toEqual([])
  })
})
