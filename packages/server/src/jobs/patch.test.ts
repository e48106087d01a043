import type { JobInput } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { sameDefinition } from './change.ts'
import { defineJob } from './define.ts'
import { inputOf, merged, patched } from './patch.ts'

const options = { jobId: 'j', tenant: 'acme', now: Date.UTC(2030, 0, 1), payload: '{ "a": 1 }' }
const target = { handler: 'h' }

const inputs: JobInput[] = [
  { type: 'CRON', schedule: '0 3 * * *', target },
  { type: 'INTERVAL', interval: 'P1D', anchor: '2029-01-01T00:00:00Z', target },
  { type: 'ONE_SHOT', runAt: '2031-01-01T00:00:00Z', target: { handler: 'h', pool: 'p' } },
  { type: 'DELAYED', delayMs: 5_000, target: { http: { url: 'https://example.com' } } },
  {
    ...{ type: 'CRON', schedule: '@daily', target, name: 'n', key: 'k', managedBy: 'm', timezone: 'Europe/Berlin' },
    ...{ dst: { gap: 'SKIP', overlap: 'BOTH' }, startAt: '2031-01-01T00:00:00Z', endAt: '2032-01-01T00:00:00Z' },
    ...{ maxFires: 5, jitterSec: 60, misfire: 'FIRE_ALL', misfireAfterSec: 5, maxCatchUp: 7, graceSec: 9 },
    ...{ overlap: 'FORBID', pauseAfterFailures: 2, priority: 'LOW', timeoutSec: 1.5, deadlineSec: 10 },
    ...{ retryPolicy: { maxAttempts: 2, delaysMs: [1, 2] }, heartbeatTimeoutSec: 3, startWithinSec: 4 },
    ...{ cancelGraceSec: 10, unknownHandlerSec: 600, delivery: 'AT_MOST_ONCE', labels: { a: 'b' } },
    limits: ['acct:{payload.a}'],
  },
]

describe('a definition', () => {
  it.each(inputs)('asked for as it is shown is the same one: %j', (input) => {
    const row = defineJob(input, options)
    expect(sameDefinition(defineJob(inputOf(row), options), row)).toBe(true)
  })

  it('keeps its payload to the letter unless the patch names it', () => {
    const row = defineJob(inputs[0]!, options)
    expect(patched(row, { name: 'x' }).payload).toBe('{ "a": 1 }')
    expect(patched(row, { payload: { b: 2 } }).payload).toBe('{"a":1,"b":2}')
    expect(patched(row, { payload: [3] }).payload).toBe('[3]')
    expect(patched(row, { payload: null }).payload).toBeNull()
  })

  it('of another type forgets the time of the old one', () => {
    const row = defineJob(inputs[1]!, options)
    const { input } = patched(row, { type: 'CRON', schedule: '@daily' })
    expect(input).toMatchObject({ type: 'CRON', schedule: '@daily' })
    expect(input).not.toHaveProperty('interval')
    expect(input).not.toHaveProperty('anchor')
  })
})

describe('a merge patch', () => {
  // The examples of RFC 7396, appendix A.
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])('%s with %s is %s', (before, patch, after) => {
    expect(JSON.stringify(merged(JSON.parse(before), JSON.parse(patch)))).toBe(after)
  })
})
