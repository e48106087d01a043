import { limits } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { conditionProblems, evaluate } from './condition.ts'

const messagesOf = (text: string, dependsOn = ['extract', 'check-2']) =>
  conditionProblems(text, dependsOn).map(({ message }) => message)

describe('a condition', () => {
  it.each([
    ['results.extract.count > 0', true],
    ['results.extract.count == 3 && results["check-2"].ok', true],
    ['size(results.extract.files) >= 2 || results.extract.count > 100', true],
    ['has(results.extract.nothing)', false],
    ['results.extract.files[1] == "b" ? results.extract.count < 2 : true', false],
    ['"a" in results.extract.files', true],
    ['states["check-2"] == "SUCCEEDED"', true],
    ['results.extract.ratio * 2.0 == 0.5', true],
    ['!results["check-2"].ok', false],
  ])('%s is %s', (text, holds) => {
    const results = { extract: { count: 3, files: ['a', 'b'], ratio: 0.25 }, 'check-2': { ok: true } }
    const states = { extract: 'SUCCEEDED', 'check-2': 'SUCCEEDED' }
    expect(messagesOf(text)).toEqual([])
    expect(evaluate(text, { results, states })).toEqual({ holds })
  })

  it.each([
    ['results.extract.nothing > 1', /No such key: nothing/],
    ['results.extract.count > 1', /.+/],
    ['results.extract', /it is object, not true or false/],
  ])('%s cannot be answered, and says why', (text, why) => {
    const judged = evaluate(text, { results: { extract: { count: 'three' } }, states: {} })
    expect(judged).toEqual({ error: expect.stringMatching(why) })
  })

  it.each([
    ['results.extract.count >', /when: Unexpected token/],
    ['', /when: /],
    ['payload.x == 1', /when: Unknown variable: payload/],
    ['1 + 1', /when: is int, not true or false/],
    ['results.load.ok', /when: load is none of the steps it depends on/],
    ['states["load"] == "DEAD"', /when: load is none of the steps it depends on/],
    ['results.extract.files.all(x, x > 1)', /when: all is not known/],
    ['results.extract.files.exists(x, results.extract.files.exists(y, x == y))', /when: exists is not known/],
    ['results.extract.text.matches("(a+)+$")', /when: matches is not known/],
    ['process.exit() == 1', /when: exit is not known/],
    ['results.extract.constructor.constructor("return 1")() == 1', /when: /],
    [`${'('.repeat(60)}true${')'.repeat(60)}`, /when: /],
    [Array.from({ length: 200 }, () => 'true').join('&&'), /when: /],
    [`"${'x'.repeat(limits.conditionLength)}" == ""`, /when: is longer than/],
  ])('%s is refused', (text, why) => {
    expect(messagesOf(text)).toEqual([expect.stringMatching(why)])
  })

  it('cannot look behind what it is given', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      const judged = evaluate(`results.extract.${name} == 1`, { results: { extract: { a: 1 } }, states: {} })
      expect(judged, name).toEqual({ error: expect.stringContaining('No such key') })
    }
  })
})
