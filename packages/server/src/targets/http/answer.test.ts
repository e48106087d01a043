import { limits } from '@carillon/contract'
import { Deferred, PermanentError, RetryLater } from '@carillon/sdk'
import { describe, expect, it } from 'vitest'
import { TargetFailed } from '../target-failed.ts'
import { judge, retryAfter } from './answer.ts'
import type { Incoming } from './exchange.ts'

const now = Date.UTC(2030, 0, 1)

function answer(status: number, more: Partial<Incoming> = {}): Incoming {
  return { status, headers: {}, text: '', truncated: false, bound: true, redirects: [], ...more }
}
function thrown(incoming: Incoming): unknown {
  try {
    judge(incoming, now)
  } catch (error) {
    return error
  }
  throw new Error('it was a success')
}

describe('a success', () => {
  it.each<[string, Partial<Incoming>, unknown]>([
    ['JSON', { text: '{"a":1}', headers: { 'content-type': 'application/json; charset=utf-8' } }, { a: 1 }],
    ['JSON of another kind', { text: '3', headers: { 'content-type': 'application/vnd.x+json' } }, 3],
    ['JSON that does not say so', { text: ' [1]' }, [1]],
    ['what only looks like it', { text: '{oops' }, '{oops'],
    ['text', { text: '12', headers: { 'content-type': 'text/plain' } }, '12'],
    ['nothing', {}, null],
  ])('keeps %s', (_, more, body) => {
    expect(judge(answer(200, more), now)).toEqual({ status: 200, body })
  })

  it('is cut to what a result may be, even if JSON makes it longer', () => {
    for (const text of ['x'.repeat(limits.resultBytes), '\u0001'.repeat(limits.resultBytes)]) {
      const result = judge(answer(201, { text }), now)
      expect(result).toMatchObject({ status: 201, truncated: true })
      const bytes = Buffer.byteLength(JSON.stringify(result))
      expect(bytes).toBeLessThanOrEqual(limits.resultBytes)
      expect(bytes).toBeGreaterThan(limits.resultBytes / 2)
    }
  })

  it('is text when it was cut before, or is nested too deeply', () => {
    expect(judge(answer(200, { text: '[1,2', truncated: true }), now)).toMatchObject({ body: '[1,2', truncated: true })
    const deep = '['.repeat(50_000) + ']'.repeat(50_000)
    expect(judge(answer(200, { text: deep }), now)).toEqual({ status: 200, body: deep })
  })

  it('is deferred by 202, unless another origin says it', () => {
    expect(thrown(answer(202))).toBeInstanceOf(Deferred)
    expect(thrown(answer(202, { bound: false }))).toBeInstanceOf(PermanentError)
  })
})

describe('a failure', () => {
  it.each([408, 409, 425, 429, 500, 502, 503, 504, 599])('%s is tried again', (status) => {
    expect(thrown(answer(status, { text: ' busy ' }))).toEqual(new TargetFailed(`the target answered ${status}: busy`))
    const later = thrown(answer(status, { headers: { 'retry-after': '7' } }))
    expect(later).toBeInstanceOf(RetryLater)
    expect((later as RetryLater).retryAfterMs).toBe(7_000)
  })

  it.each([300, 301, 302, 303, 304, 400, 401, 403, 404, 410, 422, 499])('%s is not', (status) => {
    expect(thrown(answer(status, { headers: { 'retry-after': '7' } }))).toBeInstanceOf(PermanentError)
  })

  it('says what the target said, within limits', () => {
    expect((thrown(answer(500, { text: 'x'.repeat(10_000) })) as Error).message.length).toBeLessThan(600)
  })
})

describe('Retry-After', () => {
  it.each<[string | string[] | undefined, number | null]>([
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5_000],
    ['999999999999', 86_400_000],
    ['Tue, 01 Jan 2030 00:00:30 GMT', 30_000],
    ['Mon, 31 Dec 2029 00:00:00 GMT', 0],
    ['Fri, 01 Feb 2030 00:00:00 GMT', 86_400_000],
    ['soon', null],
    ['-1', null],
    ['1.5', null],
    ['', null],
    [['1', '2'], null],
    [undefined, null],
  ])('%j: %s', (value, ms) => {
    expect(retryAfter(value, now)).toBe(ms)
  })
})
