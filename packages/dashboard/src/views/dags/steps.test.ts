import type { DagRunStep } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { countsOf, criticalPath, dependantsOf, leftOf, notSucceeded, stepTookMs } from './steps.ts'

const start = Date.UTC(2030, 0, 15, 3)
const at = (sec: number) => new Date(start + sec * 1_000).toISOString()

function step(name: string, dependsOn: string[], from: number | null, to: number | null, state = 'SUCCEEDED') {
  const times = { startedAt: from === null ? null : at(from), finishedAt: to === null ? null : at(to) }
  return { name, dependsOn, state, ...times } as unknown as DagRunStep
}

const createdAt = at(0)

describe('the critical path', () => {
  it('goes back from the step that ended last over those it waited for', () => {
    const steps = [
      step('extract', [], 1, 5),
      step('quick', ['extract'], 5, 6),
      step('slow', ['extract'], 5, 20),
      step('notify', ['quick', 'slow'], 20, 21),
      step('aside', [], 0, 19),
    ]
    expect(criticalPath({ steps, createdAt })).toEqual({ names: ['extract', 'slow', 'notify'], tookMs: 21_000 })
  })

  it('counts the time between attempts, of which only the latest has a start', () => {
    const steps = [step('a', [], 0, 2), step('retried', ['a'], 29, 30), step('b', ['a'], 2, 12)]
    expect(criticalPath({ steps, createdAt }).names).toEqual(['a', 'retried'])
  })

  it('ends with the last step that ran, not with one that was skipped', () => {
    const steps = [step('load', [], 0, 9, 'DEAD'), step('notify', ['load'], null, 10, 'SKIPPED')]
    expect(criticalPath({ steps, createdAt })).toEqual({ names: ['load'], tookMs: 9_000 })
  })

  it('is empty if nothing ran', () => {
    expect(criticalPath({ steps: [step('a', [], null, 1, 'CANCELLED')], createdAt }).names).toEqual([])
  })
})

describe('steps', () => {
  const steps = [
    step('a', [], 0, 2),
    step('b', ['a'], 2, null, 'RUNNING'),
    step('c', ['a'], 2, 3, 'DEAD'),
    step('d', ['b', 'c'], null, null, 'BLOCKED'),
  ]

  it('know what depends on them', () => {
    expect(Object.fromEntries(dependantsOf(steps))).toEqual({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] })
  })

  it('are counted by what cancelling and retrying touch', () => {
    expect(leftOf(steps)).toEqual({ running: 1, waiting: 1 })
    expect(notSucceeded(steps)).toBe(3)
  })

  it('are counted by state, what failed first', () => {
    expect(countsOf(steps).map(([state]) => state)).toEqual(['DEAD', 'RUNNING', 'BLOCKED', 'SUCCEEDED'])
  })

  it('took as long as their latest attempt', () => {
    expect(steps.map(stepTookMs)).toEqual([2_000, null, 1_000, null])
  })
})
