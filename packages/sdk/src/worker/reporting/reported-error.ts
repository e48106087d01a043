/**
 * Anything can be thrown: a string, undefined, a proxy whose getters throw, an error with a stack of megabytes. Whatever
 * it was becomes a ReportedError whose texts PostgreSQL can hold and whose size is bounded. Nothing here throws.
 */
import { limits } from '@carillon/contract'
import { directiveOf } from '../../errors.ts'
import type { ReportedError } from '../transport.ts'
import { clip } from './text.ts'

/** How an attempt failed, ready to be reported. */
export interface Failure {
  error: ReportedError
  retryAfterMs?: number
  permanent?: boolean
  /** Not a failure: an external system will report the outcome. */
  deferred?: boolean
}

const nameBytes = 256
const messageBytes = limits.errorBytes / 2
const causesShown = 5

export function failureOf(thrown: unknown): Failure {
  return { error: reportedError(thrown), ...directiveOf(thrown) }
}

/** A failure that trying again cannot help. */
export function finalFailure(name: string, message: string): Failure {
  return { error: { name, message: clip(message, messageBytes) }, permanent: true }
}

export function reportedError(thrown: unknown): ReportedError {
  const name = clip(nameOf(thrown), nameBytes)
  const message = clip(messageOf(thrown), messageBytes)
  const rest = limits.errorBytes - Buffer.byteLength(name) - Buffer.byteLength(message)
  const stack = stackOf(thrown)
  return stack === '' ? { name, message } : { name, message, stack: clip(stack, rest) }
}

function nameOf(thrown: unknown): string {
  const name = read(thrown, 'name')
  if (typeof name === 'string' && name !== '') return name
  const className = read(read(thrown, 'constructor'), 'name')
  if (isObject(thrown) && typeof className === 'string' && className !== '' && className !== 'Object') return className
  return 'NonError'
}

function messageOf(thrown: unknown): string {
  const message = read(thrown, 'message')
  if (typeof message === 'string') return message
  if (!isObject(thrown)) return typeof thrown === 'string' ? thrown : `Threw ${String(thrown)}`
  try {
    return `Threw ${JSON.stringify(thrown) ?? typeof thrown}`
  } catch {
    return 'Threw something that cannot be shown'
  }
}

/** The stack with those of its causes: the cause often says what really happened. */
function stackOf(thrown: unknown): string {
  const parts: string[] = []
  let current = thrown
  for (let depth = 0; depth < causesShown && isObject(current); depth++) {
    const stack = read(current, 'stack')
    const text = typeof stack === 'string' && stack !== '' ? stack : depth > 0 ? messageOf(current) : ''
    if (text !== '') parts.push(depth === 0 ? text : `Caused by: ${text}`)
    current = read(current, 'cause')
  }
  return parts.join('\n')
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function read(from: unknown, key: string): unknown {
  if (!isObject(from)) return undefined
  try {
    return (from as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}
