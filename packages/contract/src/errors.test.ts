import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CarillonError, type ErrorCode, errorTable } from './errors.ts'

const codes = Object.keys(errorTable) as ErrorCode[]
const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
const documented = new Map(
  [...page.matchAll(/^\| `([A-Z_]+)` \| (\d{3}) \| (.+?) \| (.+?) \|$/gm)].map(([, code, status, meaning, advice]) => [
    code!,
    { status: Number(status), meaning: meaning!, advice: advice! },
  ]),
)

describe('the table of errors', () => {
  it.each(codes)('%s has a title and an HTTP status of an error', (code) => {
    const { title, status } = errorTable[code]
    expect(code).toMatch(/^[A-Z][A-Z_]*[A-Z]$/)
    expect(title).toMatch(/^[A-Z].*[^.]$/)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
  })

  it('has no two titles alike', () => {
    expect(new Set(codes.map((code) => errorTable[code].title)).size).toBe(codes.length)
  })
})

describe('docs/errors.md', () => {
  it.each(codes)('tells what %s means and what to do, with its status', (code) => {
    expect(documented.get(code), `${code} has no row in docs/errors.md`).toBeDefined()
    expect(documented.get(code)!.status).toBe(errorTable[code].status)
  })

  it('tells of no error that does not exist', () => {
    expect([...documented.keys()].filter((code) => !(code in errorTable))).toEqual([])
  })
})

describe('an error', () => {
  it('has the code, the status and the details', () => {
    const error = new CarillonError('POOL_UNKNOWN', {
      pointer: '/target/pool',
      message: 'there is no x',
      hint: 'Use y',
    })
    expect(error).toMatchObject({ name: 'CarillonError', code: 'POOL_UNKNOWN', status: 422 })
    expect(error.message).toBe('target.pool: there is no x (Use y)')
    expect(error.errors).toEqual([{ pointer: '/target/pool', message: 'there is no x', hint: 'Use y' }])
  })

  it('tells all that is wrong in its message', () => {
    const error = new CarillonError('VALIDATION', [{ message: 'one' }, { message: 'two', hint: 'do' }])
    expect(error.message).toBe('one; two (do)')
  })

  it('may be a sentence, or fall back to the title', () => {
    expect(new CarillonError('VALIDATION', 'no').errors).toEqual([{ message: 'no' }])
    expect(new CarillonError('VALIDATION', []).message).toBe(errorTable.VALIDATION.title)
  })

  it('keeps its cause', () => {
    const cause = new Error('below')
    expect(new CarillonError('FENCE_STALE', 'old', { cause }).cause).toBe(cause)
  })
})
