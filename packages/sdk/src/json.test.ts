import { CarillonError, limits } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeJson, encodeParsedJson } from './json.ts'

function refusal(value: unknown, kind: 'payload' | 'result' | 'progress' = 'payload'): CarillonError {
  try {
    encodeJson(value, kind)
  } catch (error) {
    return error as CarillonError
  }
  throw new Error('was not refused')
}

describe('encodeJson', () => {
  test('writes what JSON holds', () => {
    const value = { a: [1, 'x', null, true], b: { c: new Date(0) }, gone: undefined, holes: [undefined] }
    expect(encodeJson(value, 'payload')).toBe(
      '{"a":[1,"x",null,true],"b":{"c":"1970-01-01T00:00:00.000Z"},"holes":[null]}',
    )
    expect(encodeJson('text', 'result')).toBe('"text"')
    expect(encodeJson(null, 'payload')).toBe('null')
  })

  test('takes undefined for null in a result, not in a payload', () => {
    expect(encodeJson(undefined, 'result')).toBe('null')
    expect(refusal(undefined).code).toBe('PAYLOAD_INVALID')
  })

  test('keeps NUL and lone surrogates as escapes that PostgreSQL text can hold', () => {
    const text = encodeJson({ s: 'a\0b\ud800c' }, 'payload')
    expect(text).toBe('{"s":"a\\u0000b\\ud800c"}')
    expect(text.isWellFormed() && !text.includes('\0')).toBe(true)
    expect(JSON.parse(text)).toEqual({ s: 'a\0b\ud800c' })
  })

  const cycle: { inner: { back?: unknown } } = { inner: {} }
  cycle.inner.back = cycle
  const throwing = {
    get boom() {
      throw new Error('no')
    },
  }
  const badToJson = {
    toJSON() {
      throw new Error('no')
    },
  }
  test.each([
    ['a function', { list: [() => 1] }, '/list/0', /function/],
    ['a symbol', { s: Symbol('s') }, '/s', /symbol/],
    ['a BigInt', { 'a/b~c': 1n }, '/a~1b~0c', /BigInt/],
    ['NaN', [1, Number.NaN], '/1', /NaN/],
    ['Infinity', { n: Number.POSITIVE_INFINITY }, '/n', /Infinity/],
    ['a cycle', cycle, '/inner/back', /itself/],
    ['a getter that throws', { throwing }, '/throwing/boom', /getter/],
    ['a toJSON that throws', { badToJson }, '/badToJson', /toJSON/],
    ['a function at the top', () => 1, '', /function/],
  ])('refuses %s and names the place', (_what, value, pointer, problem) => {
    const error = refusal(value)
    expect(error).toBeInstanceOf(CarillonError)
    expect(error.code).toBe('PAYLOAD_INVALID')
    expect(error.errors[0]!.pointer).toBe(`/payload${pointer}`)
    expect(error.message).toMatch(problem)
    expect(refusal(value, 'result').code).toBe('RESULT_INVALID')
    expect(refusal(value, 'progress').code).toBe('VALIDATION')
  })

  test('refuses nesting that would exhaust the stack', () => {
    let deep: unknown = 1
    for (let depth = 0; depth < 200_000; depth++) deep = [deep]
    expect(refusal(deep).message).toMatch(/nested too deeply|cannot be written/)
  })

  test('counts bytes, not characters, and says what to do', () => {
    const fits = 'x'.repeat(limits.payloadBytes - 2)
    expect(encodeJson(fits, 'payload')).toHaveLength(limits.payloadBytes)
    const error = refusal(`${fits}x`)
    expect(error.code).toBe('PAYLOAD_TOO_LARGE')
    expect(error.message).toMatch(/reference/)
    expect(refusal('é'.repeat(limits.payloadBytes / 2)).code).toBe('PAYLOAD_TOO_LARGE')
    expect(refusal(`${fits}x`, 'result').code).toBe('RESULT_TOO_LARGE')
  })
})

describe('encodeParsedJson', () => {
  test('writes what JSON.parse made as encodeJson does', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        const value = JSON.parse(text)
        expect(encodeParsedJson(value, 'payload')).toBe(encodeJson(value, 'payload'))
      }),
    )
  })

  test('refuses what encodeJson refuses', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
    const large = JSON.parse(JSON.stringify('x'.repeat(limits.payloadBytes)))
    for (const value of [JSON.parse('{"a":[1e999]}'), deep, large]) {
      const refused = refusal(value)
      expect(() => encodeParsedJson(value, 'payload')).toThrow(refused.message)
    }
  })
})
