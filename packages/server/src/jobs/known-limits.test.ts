import { describe, expect, it } from 'vitest'
import { requireLimits } from './known-limits.ts'

const names = new Set(['acct', 'mail-provider'])

describe('a limit that is named', () => {
  it('must be declared', () => {
    expect(() => requireLimits(names, ['acct:1', 'mail-provider'])).not.toThrow()
  })

  it.each([
    ['act:1', 'Did you mean acct?'],
    ['Mail_Provider', 'Did you mean mail-provider?'],
    ['video', 'Declare it: carillon limits put'],
  ])('%s: %s', (asked, hint) => {
    const refusal = expect.objectContaining({
      code: 'LIMIT_UNKNOWN',
      errors: [expect.objectContaining({ pointer: '/limits/1', hint })],
    })
    expect(() => requireLimits(names, ['acct', asked])).toThrow(refusal)
  })
})
