import { limits } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { PermanentError, RetryLater } from '../../errors.ts'
import { LogLines } from './log-lines.ts'
import { failureOf, reportedError } from './reported-error.ts'

const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('no')
    },
    getPrototypeOf() {
      throw new Error('no')
    },
  },
)
const revoked = Proxy.revocable({}, {})
revoked.revoke()
const huge = new Error('m'.repeat(1_000_000))
huge.stack = 's'.repeat(5_000_000)
const cyclic = new Error('outer')
cyclic.cause = cyclic

describe('reportedError', () => {
  test.each([
    ['a string', 'oops', 'NonError', 'oops'],
    ['undefined', undefined, 'NonError', 'Threw undefined'],
    ['null', null, 'NonError', 'Threw null'],
    ['a symbol', Symbol('s'), 'NonError', 'Threw Symbol(s)'],
    ['a BigInt', 10n, 'NonError', 'Threw 10'],
    ['an object', { status: 500 }, 'NonError', 'Threw {"status":500}'],
    ['an error', new TypeError('wrong'), 'TypeError', 'wrong'],
    ['a hostile proxy', hostile, 'NonError', 'Threw something that cannot be shown'],
    ['a revoked proxy', revoked.proxy, 'NonError', 'Threw something that cannot be shown'],
    ['a cyclic cause', cyclic, 'Error', 'outer'],
    ['NUL and half pairs', new Error('a\0b\ud800c'), 'Error', 'a\ufffdb\ufffdc'],
  ])('takes %s', (_what, thrown, name, message) => {
    expect(reportedError(thrown)).toMatchObject({ name, message })
  })

  test('is bounded in bytes and well formed, whatever was thrown', () => {
    for (const thrown of [huge, new Error('😀'.repeat(100_000)), 'é'.repeat(1_000_000), hostile]) {
      const { name, message, stack = '' } = reportedError(thrown)
      const bytes = Buffer.byteLength(name) + Buffer.byteLength(message) + Buffer.byteLength(stack)
      expect(bytes).toBeLessThanOrEqual(limits.errorBytes)
      expect(message.isWellFormed() && stack.isWellFormed()).toBe(true)
    }
  })

  test('shows the cause', () => {
    const { stack } = reportedError(new Error('outer', { cause: new Error('the real reason') }))
    expect(stack).toMatch(/Caused by: Error: the real reason/)
  })
})

describe('failureOf', () => {
  test('hears what the handler asks for', () => {
    expect(failureOf(new RetryLater(1_500.2, 'busy'))).toMatchObject({
      retryAfterMs: 1_501,
      error: { message: 'busy' },
    })
    expect(failureOf(new PermanentError('bad order'))).toMatchObject({
      permanent: true,
      error: { name: 'PermanentError' },
    })
    expect(failureOf(new Error('x'))).not.toHaveProperty('permanent')
    expect(failureOf(hostile)).not.toHaveProperty('retryAfterMs')
    expect(() => new RetryLater(Number.NaN)).toThrow(RangeError)
  })
})

describe('LogLines', () => {
  test('keeps 1,000 lines and then says that it was cut', () => {
    const log = new LogLines()
    for (let line = 0; line < 1_000; line++) log.add(`line ${line}`)
    expect(log.lines.at(-1)).toBe('line 999')
    log.add('one too many')
    log.add('and another')
    expect(log.lines).toHaveLength(1_001)
    expect(log.lines.at(-1)).toMatch(/cut/)
  })

  test('keeps 64 KiB', () => {
    const log = new LogLines()
    for (let line = 0; line < 10; line++) log.add('é'.repeat(10_000))
    expect(Buffer.byteLength(log.lines.join('\n'))).toBeLessThan(66_000)
    expect(log.lines.at(-1)).toMatch(/cut/)
  })

  test('has no line feed in a line, and a time for each', () => {
    const log = new LogLines()
    log.add('one\ntwo\n', 5)
    log.add('', 6)
    expect([log.lines, log.times]).toEqual([
      ['one', 'two', '', ''],
      [5, 5, 5, 6],
    ])
    log.add('x\n'.repeat(70_000), 7)
    expect(log.lines).toHaveLength(1_001)
  })
})
