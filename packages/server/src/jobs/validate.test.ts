import { CarillonError } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { latestInstant } from '../domain/schedule/time-range.ts'
import { Problems } from './validate.ts'

function pointersOf(check: (problems: Problems) => void): (string | undefined)[] {
  const problems = new Problems()
  check(problems)
  try {
    problems.throwIfAny()
  } catch (error) {
    expect((error as CarillonError).code).toBe('VALIDATION')
    return (error as CarillonError).errors.map(({ pointer }) => pointer)
  }
  return []
}
const accepts = (check: (problems: Problems) => void) => pointersOf(check).length === 0

describe('problems', () => {
  it('are all told at once', () => {
    const pointers = pointersOf((p) => {
      p.text('/name', '', 10)
      p.integer('/n', 1.5, { min: 0, max: 9 })
      p.oneOf('/type', 'x', ['A', 'B'])
    })
    expect(pointers).toEqual(['/name', '/n', '/type'])
  })

  it('of a check that throws are kept with the others; what is no request error goes on', () => {
    const problems = new Problems()
    const refuse = () => {
      throw new CarillonError('VALIDATION', { pointer: '/inner', message: 'no' })
    }
    expect(problems.try(refuse)).toBeNull()
    expect(problems.try(() => 5)).toBe(5)
    expect(() => problems.throwIfAny()).toThrow(/no/)
    expect(() => problems.try(() => JSON.parse('{'))).toThrow(SyntaxError)
  })
})

describe('text', () => {
  it.each(['a', 'größe', '名前', 'with space', '🎈', 'x'.repeat(10)])('takes %j', (value) => {
    expect(accepts((p) => p.text('/t', value, 10))).toBe(true)
  })

  it.each(['', 'x'.repeat(11), 'a\u0000', 'a\nb', 'a\u007f', '\ud800', 5, null, undefined, {}, ['a']])(
    'refuses %j',
    (value) => {
      expect(accepts((p) => p.text('/t', value, 10))).toBe(false)
    },
  )
})

describe('integer and number', () => {
  it('take what lies in the range, ends included, and undefined for not given', () => {
    for (const value of [1, 5, 9, undefined]) {
      expect(accepts((p) => p.integer('/n', value, { min: 1, max: 9 }))).toBe(true)
      expect(accepts((p) => p.number('/n', value, { min: 1, max: 9 }))).toBe(true)
    }
    expect(accepts((p) => p.number('/n', 1.5, { min: 1, max: 9 }))).toBe(true)
  })

  it.each([0, 10, -1, Number.NaN, Infinity, -Infinity, '5', true, null, {}, [5], 2 ** 53])('refuse %j', (value) => {
    expect(accepts((p) => p.integer('/n', value, { min: 1, max: 9 }))).toBe(false)
    expect(accepts((p) => p.number('/n', value, { min: 1, max: 9 }))).toBe(false)
  })

  it('an integer has no parts', () => {
    expect(accepts((p) => p.integer('/n', 1.5, { min: 1, max: 9 }))).toBe(false)
  })
})

describe('oneOf', () => {
  it('takes what is known, and undefined for not given', () => {
    expect(accepts((p) => p.oneOf('/o', 'A', ['A', 'B']))).toBe(true)
    expect(accepts((p) => p.oneOf('/o', undefined, ['A', 'B']))).toBe(true)
  })

  it.each(['a', '', null, 0, {}, 'toString'])('refuses %j', (value) => {
    expect(accepts((p) => p.oneOf('/o', value, ['A', 'B']))).toBe(false)
  })
})

describe('instant', () => {
  const read = (value: string | number | Date) => new Problems().instant('/at', value)

  it.each<[string | number | Date, string]>([
    ['2030-01-31T08:00:00Z', '2030-01-31T08:00:00.000Z'],
    ['2030-01-31T08:00Z', '2030-01-31T08:00:00.000Z'],
    ['2030-01-31T08:00:00.123456Z', '2030-01-31T08:00:00.123Z'],
    ['2030-01-31T08:00:00+05:30', '2030-01-31T02:30:00.000Z'],
    ['2030-01-31T08:00:00-0800', '2030-01-31T16:00:00.000Z'],
    ['2032-02-29T00:00:00Z', '2032-02-29T00:00:00.000Z'],
    [new Date('2030-01-31T08:00:00Z'), '2030-01-31T08:00:00.000Z'],
    [0, '1970-01-01T00:00:00.000Z'],
    [1_000.6, '1970-01-01T00:00:01.001Z'],
    [latestInstant, '9999-12-31T23:59:59.999Z'],
  ])('reads %s', (value, text) => {
    expect(new Date(read(value)!).toISOString()).toBe(text)
  })

  it.each([
    ...['tomorrow', '', '2030-01-31', '2030-01-31T08:00:00', '2030-13-01T00:00:00Z', '2030-01-31T25:00:00Z'],
    ...['2030-02-30T00:00:00Z', '2031-02-29T00:00:00Z', '2030-04-31T12:00:00+02:00', '2030-01-00T00:00:00Z'],
    ...['20300131T080000Z', '2030-01-31T08:00:00+99:00', ' 2030-01-31T08:00:00Z', '12345-01-01T00:00:00Z'],
    ...[Number.NaN, Infinity, new Date('x')],
    ...([null, true, {}, []] as never[]),
  ])('refuses %s', (value) => {
    expect(pointersOf((p) => p.instant('/at', value))).toEqual(['/at'])
  })

  it.each([-1, '1969-12-31T23:59:59Z', '+010000-01-01T00:00:00Z', latestInstant + 1, latestInstant + 0.7])(
    'refuses %s as outside the calendar',
    (value) => {
      expect(() => read(value)).toThrow(expect.objectContaining({ code: 'TIME_OUT_OF_RANGE' }))
    },
  )

  it('reads back what any date writes', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date(latestInstant), noInvalidDate: true }), (date) => {
        expect(read(date.toISOString())).toBe(date.getTime())
      }),
    )
  })
})

describe('labels', () => {
  it('are texts by name', () => {
    expect(accepts((p) => p.labels('/labels', { team: 'billing', größe: 'XL' }, 16))).toBe(true)
    expect(accepts((p) => p.labels('/labels', undefined, 16))).toBe(true)
  })

  it.each<unknown>([
    ...[{ '': 'x' }, { a: '' }, { a: 5 }, { a: null }, { ['n'.repeat(64)]: 'x' }, { a: 'v'.repeat(256) }],
    ...[{ a: 'x', b: 'y', c: 'z' }, null, 'team', ['team'], 5],
  ])('refuse %j', (value) => {
    expect(accepts((p) => p.labels('/labels', value as never, 2))).toBe(false)
  })
})
