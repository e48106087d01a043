/**
 * Transient trouble with PostgreSQL, distinguished from errors that will come again: by SQLSTATE, or because the connection
 * failed (lib/postgres-client.ts), never by text. Only errors of the driver count: a refused connection of an HTTP
 * target is no trouble with the database, and a bug is none either.
 */
import pg from 'pg'
import { ConnectionLostError } from '../lib/postgres-client.ts'

/** The statement can be sent again at once: nothing of it happened. */
const retryAtOnce = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
])

/**
 * Classes in which the server or the network is in trouble: wait, then try again. Whether the statement happened is not
 * known. A full disk, for example, is 53100 where a file is extended, 53000 where none can be opened and 58030 where a
 * write fails, and which of them comes depends on the statement.
 */
const troubleClasses = new Set([
  '08', // connection_exception
  '53', // insufficient_resources: disk_full, out_of_memory, too_many_connections
  '58', // system_error: io_error, undefined_file
])

/** The same, of classes that also hold mistakes. */
const waitAndRetry = new Set([
  '25006', // read_only_sql_transaction: the server has become a standby, or was made read-only because its disk is full
  '25P03', // idle_in_transaction_session_timeout
  '55P03', // lock_not_available
  '57014', // query_canceled: statement_timeout
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
])

export function mayRetryAtOnce(error: unknown): boolean {
  return error instanceof pg.DatabaseError && retryAtOnce.has(codeOf(error))
}

export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionLostError) return true
  if (!(error instanceof pg.DatabaseError)) return false
  const code = codeOf(error)
  return retryAtOnce.has(code) || waitAndRetry.has(code) || troubleClasses.has(code.slice(0, 2))
}

/** The statement took longer than it may: a smaller one may go through. */
export function wasTooSlow(error: unknown): boolean {
  return error instanceof pg.DatabaseError && codeOf(error) === '57014'
}

/**
 * Classes of SQLSTATE that a row's own data can cause. Not 42 (a statement that does not fit the schema is a bug, whatever the
 * row) nor XX (corruption).
 */
const dataClasses = new Set([
  '21', // cardinality_violation: a row that is there twice
  '22', // data_exception: casts, overflows, times out of range
  '23', // integrity_constraint_violation
  '54', // program_limit_exceeded: a key too long for its index
  'P0', // raised by a function
])

/** The error may be one row's own: without that row the same statement may go through. */
export function isOfData(error: unknown): boolean {
  const code = codeOf(error)
  if (/^[0-9A-Z]{5}$/.test(code)) return dataClasses.has(code.slice(0, 2))
  // What the node itself makes of a row: a schedule that cannot be computed, a number that fits no parameter.
  return error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError
}

/** The SQLSTATE, also of errors of other drivers. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
