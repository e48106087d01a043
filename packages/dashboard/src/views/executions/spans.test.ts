import type { Execution } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { spansOf } from './spans.ts'

const noon = Date.UTC(2030, 0, 15, 12)
const at = (ms: number) => new Date(noon + ms).toISOString()

function spans(more: Partial<Execution>, now = 1_000) {
  const execution = { dueAt: at(0), firedAt: at(5), finishedAt: null, timeline: [], ...more } as unknown as Execution
  return spansOf(execution, noon + now).map(({ name, from, to, state, isOpen }) => [
    name,
    from - noon,
    to - noon,
    ...(state === undefined ? [] : [state]),
    ...(isOpen ? ['…'] : []),
  ])
}

const born = { at: at(5), to: 'PENDING' }

describe('the spans of an execution', () => {
  it('of one that waits are open', () => {
    expect(spans({ timeline: [born] })).toEqual([
      ['Late to fire', 0, 5],
      ['Waiting for a worker', 5, 1_000, '…'],
    ])
  })

  it('follow its attempts to its end', () => {
    const timeline = [
      born,
      { at: at(30), to: 'FAILED', attempt: 1, startedAt: at(10) },
      { at: at(100), to: 'RUNNING', attempt: 2 },
      { at: at(150), to: 'SUCCEEDED' },
    ]
    expect(spans({ timeline, finishedAt: at(150) })).toEqual([
      ['Late to fire', 0, 5],
      ['Waiting for a worker', 5, 10],
      ['Attempt 1', 10, 30, 'FAILED'],
      ['Waiting to be retried', 30, 100],
      ['Attempt 2', 100, 150, 'SUCCEEDED'],
    ])
  })

  it('of one that runs end now', () => {
    expect(spans({ timeline: [born, { at: at(7), to: 'RUNNING', attempt: 1 }] }).at(-1)).toEqual([
      'Attempt 1',
      7,
      1_000,
      'RUNNING',
      '…',
    ])
  })

  it('tell the time between a death and a replay', () => {
    const timeline = [
      born,
      { at: at(30), to: 'FAILED', attempt: 1, startedAt: at(5) },
      { at: at(30), to: 'DEAD', reason: 'ATTEMPTS_USED_UP' },
      { at: at(500), to: 'PENDING', reason: 'REPLAYED', actor: 'ada' },
      { at: at(510), to: 'RUNNING', attempt: 1 },
    ]
    expect(spans({ timeline }).slice(2)).toEqual([
      ['Ended', 30, 500],
      ['Waiting for a worker', 500, 510],
      ['Attempt 1', 510, 1_000, 'RUNNING', '…'],
    ])
  })

  it('call what was handed back by its name, for it used no attempt', () => {
    const timeline = [born, { at: at(30), to: 'HANDED_BACK', attempt: 1, startedAt: at(20) }]
    expect(spans({ timeline }).slice(1)).toEqual([
      ['Waiting for a worker', 5, 20],
      ['Handed back', 20, 30, 'HANDED_BACK'],
      ['Waiting for a worker', 30, 1_000, '…'],
    ])
  })

  it('of one that was cancelled while it waited end there', () => {
    const timeline = [born, { at: at(40), to: 'CANCELLED', actor: 'ada' }]
    expect(spans({ timeline, finishedAt: at(40) })).toEqual([
      ['Late to fire', 0, 5],
      ['Waiting for a worker', 5, 40],
    ])
  })
})
