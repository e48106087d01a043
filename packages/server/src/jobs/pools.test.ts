import { describe, expect, it } from 'vitest'
import { requirePool } from './pools.ts'

const pools = new Set(['default', 'batch-etl', 'email-sender'])

describe('the pool of a job', () => {
  it('must exist', () => {
    expect(() => requirePool(pools, 'batch-etl')).not.toThrow()
    expect(() => requirePool(pools, 'batch')).toThrow(expect.objectContaining({ code: 'POOL_UNKNOWN' }))
  })

  it.each([
    ['batch-elt', 'Did you mean batch-etl?'],
    ['defualt', 'Did you mean default?'],
    ['Email-Sender', 'Did you mean email-sender?'],
    ['video', 'Start a worker that serves it, or use the pool default'],
  ])('%s: %s', (pool, hint) => {
    const refusal = expect.objectContaining({ errors: [expect.objectContaining({ pointer: '/target/pool', hint })] })
    expect(() => requirePool(pools, pool)).toThrow(refusal)
  })
})
