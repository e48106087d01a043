/**
 * How a command can fail, and the exit code that says so to scripts. Everything that is thrown ends here and becomes
 * one exit code and a few plain lines: what is wrong, where, and what to do. A stack is shown only with --verbose.
 */
import { CarillonError, type ErrorCode, type ErrorDetail, errorTable } from '@carillon/contract'
import { CommanderError } from 'commander'

export const exitCodes = {
  OK: 0,
  /** The answer is no: not found, refused, a check failed, an execution that did not succeed. */
  NO: 1,
  /** The command line or a file cannot be understood. */
  USAGE: 2,
  /** No node, or no database, can be reached. */
  UNREACHABLE: 3,
  /** Not ended within the time that was given. */
  TIMED_OUT: 4,
  /** A defect: of the node or of this program. */
  DEFECT: 5,
  /** Ctrl-C. */
  INTERRUPTED: 130,
} as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The command line or a file is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly errors: readonly ErrorDetail[]

  constructor(detail: string | ErrorDetail | ErrorDetail[]) {
    const errors = typeof detail === 'string' ? [{ message: detail }] : Array.isArray(detail) ? detail : [detail]
    super(errors.map((error) => error.message).join('; '))
    this.errors = errors
  }
}

/** The command did what it should, and the answer is no. It has said so already unless there is a message. */
export class Negative extends Error {
  override readonly name = 'Negative'
  readonly exitCode: ExitCode

  constructor(message = '', exitCode: ExitCode = exitCodes.NO) {
    super(message)
    this.exitCode = exitCode
  }
}

export interface Failure {
  exitCode: ExitCode
  /** What went wrong, for programs: as the node's problem documents. */
  code: string
  title: string
  errors: readonly ErrorDetail[]
}

/** Null: nothing is left to be said. */
export function failureOf(thrown: unknown): Failure | null {
  if (thrown instanceof Negative) {
    if (thrown.message === '') return null
    return { exitCode: thrown.exitCode, code: 'NO', title: thrown.message, errors: [] }
  }
  if (thrown instanceof UsageError) {
    return { exitCode: exitCodes.USAGE, code: 'USAGE', title: 'This cannot be understood', errors: thrown.errors }
  }
  if (thrown instanceof CommanderError) {
    const message = thrown.message.replace(/^error: /, '')
    return { exitCode: exitCodes.USAGE, code: 'USAGE', title: message, errors: [] }
  }
  if (thrown instanceof CarillonError) {
    const { code, errors } = thrown
    if (code === 'UNAVAILABLE') return unreachable(errors)
    return { exitCode: exitCodeOf(code), code, title: errorTable[code].title, errors }
  }
  const trouble = connectionTrouble(thrown)
  if (trouble) return { exitCode: exitCodes.UNREACHABLE, code: 'UNREACHABLE', title: trouble, errors: [] }
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return { exitCode: exitCodes.DEFECT, code: 'DEFECT', title: `Something broke: ${message}`, errors: [] }
}

function unreachable(errors: readonly ErrorDetail[]): Failure {
  const hint = 'Is a node running there? Start one (carillon serve), or name another with --url'
  return {
    exitCode: exitCodes.UNREACHABLE,
    code: 'UNAVAILABLE',
    title: 'No node could serve this',
    errors: errors.map((error) => (error.hint === undefined ? { ...error, hint } : error)),
  }
}

const byCode: Partial<Record<ErrorCode, ExitCode>> = {
  CONFIG_INVALID: exitCodes.USAGE,
  EMBEDDED_UNAVAILABLE: exitCodes.UNREACHABLE,
  INTERNAL: exitCodes.DEFECT,
}

function exitCodeOf(code: ErrorCode): ExitCode {
  return byCode[code] ?? exitCodes.NO
}

const connectionCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EPIPE'],
  'ERR_CONNECTION_LOST',
  // PostgreSQL: wrong password, no such role or database, too many connections, connection ended by an operator or a
  // timeout, crashed, starting up or shutting down, statement timed out.
  ...['28P01', '28000', '3D000', '53300', '57P01', '57P02', '57P03', '57P05', '57014', '55P03', '25P03'],
  ...['08000', '08001', '08003', '08004', '08006'],
])

function connectionTrouble(thrown: unknown): string | null {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const parts = error instanceof AggregateError ? [error, ...error.errors] : [error]
    const found = parts.find((part) => connectionCodes.has((part as { code?: string }).code ?? ''))
    if (found) return `Cannot connect: ${(found as Error).message || (found as { code: string }).code}`
  }
  return null
}
