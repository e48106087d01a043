import { CarillonError, limits } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeJson } from './json.ts'

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

  test('takes what is nested as deep as other languages read it, and no deeper', () => {
    const nested = (depth: number, inner: unknown): unknown => (depth === 0 ? inner : [nested(depth - 1, inner)])
    const full = '['.repeat(limits.nesting) + ']'.repeat(limits.nesting)
    expect(encodeJson(JSON.parse(full), 'payload')).toBe(full)
    expect(encodeJson(nested(limits.nesting, '[{"'), 'payload')).toContain('[{')
    const written = { toJSON: () => JSON.parse(full) }
    expect(encodeJson(written, 'payload')).toBe(full)
    for (const value of [nested(limits.nesting + 1, 1), { written }, nested(5_000, new Date(0))]) {
      expect(refusal(value).message).toMatch(`is nested more than ${limits.nesting} deep`)
    }
    let exhausting: unknown = 1
    for (let depth = 0; depth < 200_000; depth++) exhausting = [exhausting]
    expect(refusal(exhausting).message).toMatch('nested more than')
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

test('writes what JSON.stringify writes, and refuses what that would change without a word', () => {
  class Money {
    readonly cents: number
    constructor(cents: number) {
      this.cents = cents
    }
    toJSON(): string {
      return `${this.cents} c`
    }
  }
  const leaf = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
    fc.constantFrom(undefined, new Date(5), new Money(3), Object.create({ inherited: () => 1 })),
  )
  const unfit = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1, Symbol('s'))
  const tree = (leaves: fc.Arbitrary<unknown>) =>
    fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        leaves,
        fc.array(tie('value'), { minLength: 1, maxLength: 3 }),
        fc.dictionary(fc.string(), tie('value'), { minKeys: 1, maxKeys: 3 }),
      ),
    })).value
  fc.assert(
    fc.property(tree(leaf), (value) => {
      expect(encodeJson({ value }, 'payload')).toBe(JSON.stringify({ value }))
    }),
  )
  fc.assert(
    fc.property(tree(unfit), (value) => {
      expect(refusal({ value }).code).toBe('PAYLOAD_INVALID')
    }),
  )
})
