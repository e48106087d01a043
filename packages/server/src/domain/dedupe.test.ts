import { describe, expect, it } from 'vitest'
import { type DedupeRule, decideDedupe, type Standing } from './dedupe.ts'

const now = 1_000_000
const minute = 60_000
const times = { now, runAt: now + 10 * minute }
const rule = (more: Partial<DedupeRule> = {}): DedupeRule => ({ while: 'UNFINISHED', onDuplicate: 'KEEP', ...more })
const standing = (state: Standing['state'], more: Partial<Standing> = {}): Standing => ({
  ...{ state, firstAt: now - minute, windowUntil: null },
  ...more,
})
const verdict = (r: DedupeRule, s: Standing | null) => decideDedupe(r, s, times).verdict

describe('what becomes of a submission', () => {
  const window = { windowUntil: now + 1 }
  it.each<[string, Partial<DedupeRule>, Standing | null, string]>([
    ['nothing stands there', {}, null, 'NEW'],
    ['what stood there is gone', {}, standing(null, window), 'NEW'],
    ['it has ended', {}, standing('ENDED'), 'NEW'],
    ['it has ended, within its window', { onDuplicate: 'REPLACE' }, standing('ENDED', window), 'KEPT'],
    ['it has ended, and its window too', {}, standing('ENDED', { windowUntil: now }), 'NEW'],
    ['it runs', { onDuplicate: 'DEBOUNCE' }, standing('STARTED'), 'KEPT'],
    ['it runs, and only pending counts', { while: 'PENDING' }, standing('STARTED'), 'NEW'],
    ['it runs, within its window', { while: 'PENDING' }, standing('STARTED', window), 'KEPT'],
    ['it is pending', { while: 'PENDING' }, standing('PENDING'), 'KEPT'],
    ['it is pending and may be replaced', { onDuplicate: 'REPLACE' }, standing('PENDING'), 'REPLACED'],
    ['it is to come and may be replaced', { onDuplicate: 'REPLACE' }, standing('COMING'), 'REPLACED'],
    ['it is to come and moves on', { onDuplicate: 'DEBOUNCE' }, standing('COMING'), 'DEBOUNCED'],
  ])('%s', (_, more, stood, expected) => {
    expect(verdict(rule(more), stood)).toBe(expected)
  })
})

describe('times', () => {
  it('a new one begins a series and its own window', () => {
    const decided = decideDedupe(rule({ windowSec: 60 }), null, times)
    expect(decided).toEqual({ verdict: 'NEW', runAt: times.runAt, firstAt: now, windowUntil: now + minute })
  })

  it('a series goes on from its first submission', () => {
    const decided = decideDedupe(rule({ onDuplicate: 'REPLACE' }), standing('COMING'), times)
    expect(decided).toMatchObject({ runAt: times.runAt, firstAt: now - minute })
  })

  it.each([
    ['as asked for, if that is soon enough', 3_600, times.runAt],
    ['no later than it may wait', 300, now + 4 * minute],
    ['now, if it has waited too long', 30, now],
  ])('a debounced one runs %s', (_, maxWaitSec, runAt) => {
    expect(decideDedupe(rule({ onDuplicate: 'DEBOUNCE', maxWaitSec }), standing('COMING'), times)).toMatchObject({
      runAt,
    })
  })
})
