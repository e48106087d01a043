/** Knex: the `trx` of `knex.transaction`. Its placeholder is `?`, in order; a `?` that is none is escaped. */
import { type Adapter, isCallable, noTransaction } from './adapter.ts'

export interface KnexTransaction {
  isCompleted(): boolean
  raw: unknown
  savepoint: unknown
}

export const adaptKnex: Adapter = (transaction) => {
  if (!isCallable(transaction) || typeof transaction.raw !== 'function') return undefined
  if (transaction.isTransaction !== true) {
    throw noTransaction('knex itself', 'Pass the transaction that knex.transaction hands to your function')
  }
  const knex = transaction as unknown as {
    raw(text: string, bindings: (string | null)[]): PromiseLike<{ rows: object[] }>
  }
  return async (text, values) => {
    const order: number[] = []
    const positional = text.replaceAll('?', '\\?').replace(/\$(\d+)/g, (_, number) => {
      order.push(Number(number) - 1)
      return '?'
    })
    const bindings = order.map((index) => values[index] ?? null)
    return (await knex.raw(positional, bindings)).rows
  }
}
