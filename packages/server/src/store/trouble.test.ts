import { CarillonError } from '@carillon/contract'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { assert } from '../lib/assert.ts'
import { ConnectionLostError } from '../lib/postgres-client.ts'
import { codeOf, isTransient, mayRetryAtOnce, wasTooSlow } from './trouble.ts'

/** As PostgreSQL says it, in words that nobody matches on. */
const said = (code: string) => Object.assign(new pg.DatabaseError('words', 1, 'error'), { code })
const coded = (code: string) => Object.assign(new Error('words'), { code })

describe('trouble with PostgreSQL', () => {
  it.each(['40001', '40P01'])('%s: nothing happened, send it again at once', (code) => {
    expect(mayRetryAtOnce(said(code))).toBe(true)
    expect(isTransient(said(code))).toBe(true)
  })

  it.each(['08006', '08003', '57P01', '57P02', '57P03', '53300', '53100', '55P03', '57014', '25P03', '58030'])(
    '%s: passes, but whether the statement happened is not known',
    (code) => {
      expect(isTransient(said(code))).toBe(true)
      expect(mayRetryAtOnce(said(code))).toBe(false)
    },
  )

  it.each(['23505', '23514', '42P01', '42601', '22P02', '42501', '28P01', 'P0001', 'CA001'])(
    '%s: will come again',
    (code) => {
      expect(isTransient(said(code))).toBe(false)
      expect(mayRetryAtOnce(said(code))).toBe(false)
    },
  )

  it('a connection that failed passes, whatever the driver says about it', () => {
    const lost = new ConnectionLostError(new Error('Connection terminated unexpectedly'))
    expect(isTransient(lost)).toBe(true)
    expect(mayRetryAtOnce(lost)).toBe(false)
    expect(codeOf(lost)).toBe('ERR_CONNECTION_LOST')
  })

  it('only a statement that was cut off was too slow', () => {
    expect(wasTooSlow(said('57014'))).toBe(true)
    expect(wasTooSlow(said('55P03'))).toBe(false)
    expect(wasTooSlow(new Error('statement timeout'))).toBe(false)
  })
})

describe('what is no trouble with PostgreSQL', () => {
  it.each<[string, () => unknown]>([
    ['a request error', () => new CarillonError('VALIDATION', 'no')],
    ['a bug of the language', () => new TypeError('x is not a function')],
    ['a bug that an assertion found', () => thrown(() => assert(false, 'must hold'))],
    ['a bare error', () => new Error('Connection terminated unexpectedly')],
    ['a connection that is not to the database', () => coded('ECONNREFUSED')],
    ['a code that did not come from PostgreSQL', () => coded('57P01')],
    ['an error of the server without a code', () => Object.assign(new Error('odd'), { severity: 'ERROR' })],
    ['no error at all', () => 'ECONNRESET'],
    ['nothing', () => undefined],
    ['null', () => null],
    ['a code that is no text', () => ({ code: 40001 })],
  ])('%s does not pass', (_, make) => {
    expect(isTransient(make())).toBe(false)
  })
})

function thrown(run: () => void): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}
