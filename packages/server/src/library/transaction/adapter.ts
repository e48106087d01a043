import { CarillonError } from '@carillon/contract'

/** One statement with `$1` parameters, all of them text. */
export type Statement = (text: string, values: (string | null)[]) => Promise<readonly object[]>

/** A value that has not been recognised yet. */
export type Shape = Readonly<Record<string, unknown>>

/** Undefined: not an object of this library. Throws if it is one, but not a transaction. */
export type Adapter = (transaction: Shape) => Statement | undefined

/** Some libraries hand out functions with properties. */
export function isCallable(shape: Shape): boolean {
  return typeof shape === 'function'
}

export function noTransaction(what: string, hint: string): CarillonError {
  return new CarillonError('VALIDATION', { pointer: '/tx', message: `${what} is not a transaction`, hint })
}
