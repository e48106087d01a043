import type { CarillonError } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { limitKeys, limitNameOf, limitProblem } from './limit-keys.ts'

const payload =
  ' {"id": 42, "big": 12345678901234567890.10, "text": "a\\u00e4\\"b", "yes": true, "none": null, "empty": "", "list": [{"id": 7}, 8], ' +
  '"of": {"a": {"b": "deep"}}, "0": "zero", "tab": "a\\tb", "long": "' +
  `${'x'.repeat(201)}", "lone": "\\ud800", "twice": 1, "twice": 2, "__proto__": "own"} `

function refusal(asked: string[], of: string | null = payload) {
  try {
    limitKeys(asked, of)
  } catch (error) {
    return (error as CarillonError).errors
  }
  throw new Error('was not refused')
}

describe('the keys that an execution names', () => {
  it.each([
    ['acct', 'acct'],
    ['acct:literal', 'acct:literal'],
    ['acct:a:b', 'acct:a:b'],
    ['acct:{payload.id}', 'acct:42'],
    ['acct:{payload.big}', 'acct:12345678901234567890.10'],
    ['acct:{payload.text}', 'acct:aä"b'],
    ['acct:{payload.yes}', 'acct:true'],
    ['acct:{payload.list.0.id}-{payload.list.1}', 'acct:7-8'],
    ['acct:eu/{payload.of.a.b}/x', 'acct:eu/deep/x'],
    ['acct:{payload.0}', 'acct:zero'],
    ['acct:{payload.twice}', 'acct:2'],
    ['acct:{payload.__proto__}', 'acct:own'],
  ])('%s is %s', (asked, key) => {
    expect(limitKeys([asked], payload)).toEqual([key])
  })

  it('may be the payload itself', () => {
    expect(limitKeys(['acct:{payload}'], ' 5.0 ')).toEqual(['acct:5.0'])
    expect(limitKeys(['acct:{payload}'], '"a"')).toEqual(['acct:a'])
  })

  it('are each there once', () => {
    expect(limitKeys(['a:{payload.id}', 'b', 'a:42', 'b'], payload)).toEqual(['a:42', 'b'])
  })

  it.each([
    ['{payload.missing}', 'payload.missing of the limit acct is not there'],
    ['{payload.id.more}', 'is not there'],
    ['{payload.list.2}', 'is not there'],
    ['{payload.list.01}', 'is not there'],
    ['{payload.list.-1}', 'is not there'],
    ['{payload.list.length}', 'is not there'],
    ['{payload.constructor}', 'is not there'],
    ['{payload.none}', 'is null'],
    ['{payload.of}', 'is an object'],
    ['{payload.list}', 'is a list'],
    ['{payload.empty}', 'is empty'],
    ['{payload.long}', 'longer than 200'],
    ['{payload.tab}', 'control character'],
    ['{payload.lone}', 'lone surrogate'],
  ])('are refused with acct:%s', (rest, message) => {
    expect(refusal(['other', `acct:${rest}`])).toMatchObject([
      { pointer: '/limits/1', message: expect.stringContaining(message), hint: expect.any(String) },
    ])
  })

  it('need a payload for what they name of it, and count characters as the database does', () => {
    expect(refusal(['acct:{payload.id}'], null)[0]!.message).toContain('there is no payload')
    expect(refusal(['a:{payload.x}', 'b:{payload.y}']).map(({ pointer }) => pointer)).toEqual([
      '/limits/0',
      '/limits/1',
    ])
    const emoji = '\u{1f514}'.repeat(200)
    expect(limitKeys(['a:{payload}'], JSON.stringify(emoji))).toEqual([`a:${emoji}`])
  })
})

describe('a limit as it is named', () => {
  it('has its name before the first colon', () => {
    expect(['a', 'a:b', 'a:b:c'].map(limitNameOf)).toEqual(['a', 'a', 'a'])
  })

  it.each([
    [':x', 'not a limit and its key'],
    ['acct:', 'not a limit and its key'],
    ['{payload.x}', 'braces in the name'],
    ['acct:{payload.x', 'a brace that is no placeholder'],
    ['acct:x}', 'a brace that is no placeholder'],
    ['acct:{}', 'not a place'],
    ['acct:{accountId}', 'not a place'],
    ['acct:{payload.}', 'not a place'],
    ['acct:{payload..x}', 'not a place'],
    ['acct:{payload.x}}', 'a brace that is no placeholder'],
  ])('is refused as %s', (asked, message) => {
    expect(limitProblem(asked)?.message).toContain(message)
    expect(limitProblem(asked)?.hint).toBeTruthy()
  })
})
