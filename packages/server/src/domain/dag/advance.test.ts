import { limits } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { decideStep, inputsOf, verdictOf } from './advance.ts'

describe('whether a step runs', () => {
  it.each([
    ['ALL_SUCCEEDED', { failed: 0, skipped: 0 }, 'READY'],
    ['ALL_SUCCEEDED', { failed: 1, skipped: 0 }, 'DEPENDENCY_FAILED'],
    ['ALL_SUCCEEDED', { failed: 1, skipped: 1 }, 'DEPENDENCY_FAILED'],
    ['ALL_SUCCEEDED', { failed: 0, skipped: 1 }, 'DEPENDENCY_SKIPPED'],
    ['ALL_DONE', { failed: 3, skipped: 2 }, 'READY'],
    ['ANY_FAILED', { failed: 1, skipped: 2 }, 'READY'],
    ['ANY_FAILED', { failed: 0, skipped: 2 }, 'CONDITION_FALSE'],
  ] as const)('%s with %o: %s', (runIf, ended, verdict) => {
    expect(verdictOf(runIf, ended)).toBe(verdict)
  })
})

describe('what it is given', () => {
  it('has results as they were written, and the states of those without', () => {
    const members = inputsOf([
      { name: 'a', outcome: { state: 'SUCCEEDED', result: '{"n": 9007199254740993}' } },
      { name: 'b', outcome: { state: 'SUCCEEDED', result: null } },
      { name: 'c"', outcome: { state: 'DEAD', result: null } },
    ])
    expect(members).toBe('"results":{"a":{"n": 9007199254740993},"b":null,"c\\"":null},"states":{"c\\"":"DEAD"}')
    expect(JSON.parse(`{${members}}`)).toMatchObject({ states: { 'c"': 'DEAD' } })
  })

  it('is bounded', () => {
    const large = JSON.stringify('x'.repeat(limits.stepInputBytes / 4))
    const outcome = { state: 'SUCCEEDED', result: large }
    expect(inputsOf(['a', 'b', 'c'].map((name) => ({ name, outcome })))).not.toBeNull()
    expect(inputsOf(['a', 'b', 'c', 'd'].map((name) => ({ name, outcome })))).toBeNull()
  })
})

describe('its condition', () => {
  const dependencies = [
    { name: 'a', outcome: { state: 'SUCCEEDED', result: '{"count":2}' } },
    { name: 'b', outcome: { state: 'DEAD', result: null } },
  ]
  it.each([
    [null, 'READY', null],
    ['results.a.count > 1 && states.b == "DEAD"', 'READY', null],
    ['results.a.count > 2', 'SKIPPED', 'CONDITION_FALSE'],
    ['results.a.nothing', 'SKIPPED', 'CONDITION_FAILED'],
    ['results.b.count > 2', 'SKIPPED', 'CONDITION_FAILED'],
  ])('%s: %s %s', (when, verdict, reason) => {
    expect(decideStep(when, dependencies)).toMatchObject({ verdict, reason })
  })
})
