/** Which references to secrets the operator allows: single ones, and prefixes that end with a star. */
import { realpathSync } from 'node:fs'
import { basename, dirname, join, normalize, sep } from 'node:path'
import { CarillonError } from '@carillon/contract'

const variable = /^[A-Za-z_][A-Za-z0-9_]*$/

export interface SecretPattern {
  /** As the operator wrote it. */
  text: string
  scheme: 'env' | 'file'
  /** What the reference begins with, or is if `whole`. */
  start: string
  whole: boolean
}

/** What could name a variable or an absolute path without detours. */
export function isWellFormed(ref: string): boolean {
  const name = nameOf(ref)
  if (ref.startsWith('env:')) return variable.test(name)
  return ref.startsWith('file:') && name.startsWith('/') && normalize(name) === name && !name.includes('\0')
}

/** Throws CONFIG_INVALID. `key`: the setting. */
export function secretPattern(text: string, key: string): SecretPattern {
  if (typeof text !== 'string') throw invalid(key, `${JSON.stringify(text)} is not a prefix of secrets`)
  const whole = !text.endsWith('*')
  const start = nameOf(whole ? text : text.slice(0, -1))
  const scheme = text.startsWith('env:') ? 'env' : 'file'
  const broad = scheme === 'env' ? start === '' : start === '' || start === '/'
  // Made into a reference that it would allow, it must be one.
  const known = text.startsWith(`${scheme}:`)
  if (!known || broad || start.includes('*') || !isWellFormed(`${scheme}:${start}${whole ? '' : 'x'}`)) {
    throw invalid(key, `${text} is not a prefix of secrets`)
  }
  return { text, scheme, start, whole }
}

export function matches({ scheme, start, whole }: SecretPattern, ref: string): boolean {
  const name = nameOf(ref)
  if (!ref.startsWith(`${scheme}:`)) return false
  return whole ? name === start : name.startsWith(start) && name.length > start.length
}

/** Whether there could be a reference that both allow. Directories are compared as they are and as what their links lead to. */
export function overlap(one: SecretPattern, other: SecretPattern): boolean {
  if (one.scheme !== other.scheme) return false
  return startsOf(one).some((a) =>
    startsOf(other).some((b) => startsOverlap({ ...one, start: a }, { ...other, start: b })),
  )
}

/** The directory that a prefix of files is in: links may not lead out of it. */
export function directoryOf({ start }: SecretPattern): string {
  return start.endsWith(sep) ? start : dirname(start)
}

export function nameOf(ref: string): string {
  return ref.slice(ref.indexOf(':') + 1)
}

function startsOverlap(one: SecretPattern, other: SecretPattern): boolean {
  if (one.whole && other.whole) return one.start === other.start
  if (one.whole) return one.start.startsWith(other.start)
  return other.start.startsWith(one.start) || (!other.whole && one.start.startsWith(other.start))
}

function startsOf(pattern: SecretPattern): string[] {
  const { scheme, start } = pattern
  if (scheme === 'env') return [start]
  try {
    const directory = realpathSync(directoryOf(pattern))
    return [start, start.endsWith(sep) ? join(directory, sep) : join(directory, basename(start))]
  } catch {
    // It may be mounted later.
    return [start]
  }
}

function invalid(key: string, message: string): CarillonError {
  const hint = 'Use such as env:CARILLON_SECRET_* or file:/run/secrets/*'
  return new CarillonError('CONFIG_INVALID', { pointer: `/targets/${key}`, message, hint })
}
