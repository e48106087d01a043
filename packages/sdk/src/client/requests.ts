/** What several calls say and understand alike. */
import { randomUUID } from 'node:crypto'
import { CarillonError, checkOptions, type ErrorCode } from '@carillon/contract'

/** An Idempotency-Key for what creates work: its own, unless the caller names the work. */
export function newKey(options: { idempotencyKey?: string } = {}): { 'idempotency-key': string } {
  checkOptions(options, ['idempotencyKey'])
  return { 'idempotency-key': options.idempotencyKey ?? randomUUID() }
}

export function ifMatch(options: { version?: number }): { 'if-match'?: string } {
  checkOptions(options, ['version'])
  return options.version === undefined ? {} : { 'if-match': String(options.version) }
}

/** For `catch`: null if the node refused with one of the codes. */
export function unless(...codes: ErrorCode[]): (error: unknown) => null {
  return (error) => {
    if (error instanceof CarillonError && codes.includes(error.code)) return null
    throw error
  }
}
