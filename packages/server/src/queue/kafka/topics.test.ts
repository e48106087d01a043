import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { groupOf, topicsOf } from './topics.ts'

describe('the topics of a pool', () => {
  it('are one for each lane', () => {
    expect(topicsOf('carillon', 'batch-etl')).toEqual([
      ...['carillon.ready.batch-etl.CRITICAL', 'carillon.ready.batch-etl.HIGH'],
      ...['carillon.ready.batch-etl.NORMAL', 'carillon.ready.batch-etl.LOW'],
    ])
  })

  it('say whose pool it is', () => {
    expect(topicsOf('prod', 'acme\u001fe_mail')[2]).toBe('prod.ready.acme_1f_e_5f_mail.NORMAL')
  })

  it('have names that Kafka takes, another one for every pool', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ maxLength: 300 }), (one, other) => {
        const [a, b] = [topicsOf('p'.repeat(100), one), topicsOf('p'.repeat(100), other)]
        for (const name of [...a, groupOf('p'.repeat(100), 'i'.repeat(36), one)])
          expect(name).toMatch(/^[a-zA-Z0-9._-]{1,249}$/)
        expect(a[0] === b[0]).toBe(one === other)
      }),
    )
  })
})
