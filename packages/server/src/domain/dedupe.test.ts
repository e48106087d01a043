import { describe, expect, it } from 'vitest'
import { type DedupeRule, decideDedupe, type KeyHolder } from './dedupe.ts'

const now = 1_000_000
const minute = 60_000
const times = { now, runAt: now + 10 * minute }
const rule = (more: Partial<DedupeRule> = {}): DedupeRule => ({ while: 'UNFINISHED', onDuplicate: 'KEEP', ...more })
const holder = (state: KeyHolder['state'], more: Partial<KeyHolder> = {}): KeyHolder => ({
  ...{ state, firstAt: now - minute, windowUntil: null },
  ...more,
})
const verdict = (r: DedupeRule, s: KeyHolder | null) => decideDedupe(r, s, times).verdict

describe('what becomes of a submission', () => {
  const window = { windowUntil: now + 1 }
  it.each<[string, Partial<DedupeRule>, KeyHolder | null, string]>([
    ['nothing holds the key', {}, null, 'NEW'],
    ['the holder is gone', {}, holder(null, window), 'NEW'],
    ['it has ended', {}, holder('ENDED'), 'NEW'],
    ['it has ended, within its window', { onDuplicate: 'REPLACE' }, holder('ENDED', window), 'KEPT'],
    ['it has ended, and its window too', {}, holder('ENDED', { windowUntil: now }), 'NEW'],
    ['it runs', { onDuplicate: 'DEBOUNCE' }, holder('STARTED'), 'KEPT'],
    ['it runs, and only pending counts', { while: 'PENDING' }, holder('STARTED'), 'NEW'],
    ['it runs, within its window', { while: 'PENDING' }, holder('STARTED', window), 'KEPT'],
    ['it is pending', { while: 'PENDING' }, holder('PENDING'), 'KEPT'],
    ['it is pending and may be replaced', { onDuplicate: 'REPLACE' }, holder('PENDING'), 'REPLACED'],
    ['it is to come and may be replaced', { onDuplicate: 'REPLACE' }, holder('COMING'), 'REPLACED'],
    ['it is to come and moves on', { onDuplicate: 'DEBOUNCE' }, holder('COMING'), 'DEBOUNCED'],
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
    const decided = decideDedupe(rule({ onDuplicate: 'REPLACE' }), holder('COMING'), times)
    expect(decided).toMatchObject({ runAt: times.runAt, firstAt: now - minute })
  })

  it.each([
    ['as asked for, if that is soon enough', 3_600, times.runAt],
    ['no later than it may wait', 300, now + 4 * minute],
    ['now, if it has waited too long', 30, now],
  ])('a debounced one runs %s', (_, maxWaitSec, runAt) => {
    expect(decideDedupe(rule({ onDuplicate: 'DEBOUNCE', maxWaitSec }), holder('COMING'), times)).toMatchObject({
      runAt,
    })
  })
})
