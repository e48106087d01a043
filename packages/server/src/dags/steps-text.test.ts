import { type DagStep, JsonText } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { payloadOf } from './define-steps.ts'
import { sameSteps } from './same-steps.ts'
import { parseSteps, stepsText } from './steps-text.ts'

const target = { handler: 'h' }
const again = (steps: DagStep[]) => parseSteps(stepsText(steps))

describe('the text of steps', () => {
  it.each([
    '12345678901234567890',
    '1.50',
    '-0',
    '1e400',
    '"\\u0000 \\ud800 \\" , } ]"',
    '{"__proto__":1,"payload":{"payload":[]}}',
    'null',
    '[]',
  ])('keeps the payload %s to the letter', (payload) => {
    const text = stepsText([{ name: 'a', target, payload: new JsonText(payload) }])
    expect(text).toBe(`[{"name":"a","target":{"handler":"h"},"payload":${payload}}]`)
    const [step] = parseSteps(text)
    expect(payloadOf(step!)).toBe(payload)
    expect(stepsText([step!])).toBe(text)
  })

  it('tells a payload that is null from none', () => {
    const steps: DagStep[] = [
      { name: 'a', target },
      { name: 'b', target, payload: null },
    ]
    expect(again(steps).map(payloadOf)).toEqual([null, 'null'])
    expect(stepsText(again(steps))).toBe(stepsText(steps))
  })

  it('keeps everything else', () => {
    const steps: DagStep[] = [
      {
        name: '__proto__',
        dependsOn: [],
        target: { http: { url: 'https://x/?a={}' } },
        labels: { ['__proto__']: ']' },
      },
      { name: 'b', dependsOn: ['__proto__'], runIf: 'ALL_DONE', allowFailure: true, target, timeoutSec: 0.5 },
    ]
    expect(again(steps)).toEqual(steps)
  })

  it('keeps any payload that JSON has', () => {
    fc.assert(
      fc.property(fc.array(fc.json(), { minLength: 1, maxLength: 5 }), (payloads) => {
        const steps = payloads.map((payload, i) => ({ name: `s${i}`, target, payload: new JsonText(payload) }))
        expect(again(steps).map(payloadOf)).toEqual(steps.map(payloadOf))
      }),
    )
  })
})

describe('steps are the same', () => {
  const a: DagStep = { name: 'a', target }
  const b: DagStep = { name: 'b', target, dependsOn: ['a', 'c'], labels: { x: '1', y: '2' }, payload: { n: 1 } }

  it.each<[DagStep, DagStep]>([
    [a, { ...a, dependsOn: [], runIf: 'ALL_SUCCEEDED', allowFailure: false, timeoutSec: 300, priority: 'NORMAL' }],
    [a, { name: 'a', target: { pool: 'default', handler: 'h' }, labels: {}, delivery: 'AT_LEAST_ONCE' }],
    [b, { ...b, dependsOn: ['c', 'a'], labels: { y: '2', x: '1' }, payload: new JsonText(' { "n" : 1 } ') }],
  ])('if they mean the same: %j, %j', (one, other) => {
    expect(sameSteps([one], [other])).toBe(true)
  })

  it.each<[DagStep, DagStep]>([
    [a, { ...a, name: 'b' }],
    [a, { ...a, runIf: 'ALL_DONE' }],
    [a, { ...a, allowFailure: true }],
    [a, { ...a, target: { handler: 'other' } }],
    [a, { ...a, timeoutSec: 299 }],
    [a, { ...a, priority: 'LOW' }],
    [a, { ...a, payload: null }],
    [b, { ...b, dependsOn: ['a'] }],
    [b, { ...b, labels: { x: '1' } }],
    [b, { ...b, payload: new JsonText('{"n":1.0}') }],
  ])('and not if they do not: %j, %j', (one, other) => {
    expect(sameSteps([one], [other])).toBe(false)
  })

  it('in the same order and number only', () => {
    expect(sameSteps([a, b], [b, a])).toBe(false)
    expect(sameSteps([a], [a, b])).toBe(false)
  })
})
