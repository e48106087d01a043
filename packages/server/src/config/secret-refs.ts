/**
 * References to secrets (`env:NAME`, `file:/path`), resolved when they are needed and nowhere kept. What must stay true: no
 * more can be read than the operator's prefixes allow, and neither an error nor a log line holds a value.
 */
import { open, realpath, stat } from 'node:fs/promises'
import { dirname, normalize, sep } from 'node:path'
import { CarillonError } from '@carillon/contract'

const maxBytes = 64 * 1024
const variable = /^[A-Za-z_][A-Za-z0-9_]*$/

interface Pattern {
  scheme: 'env' | 'file'
  /** What the reference begins with, or is if `whole`. */
  start: string
  whole: boolean
}

/** A reference that cannot be resolved now. The message names the reference, never what it stands for. */
export class SecretUnavailable extends Error {
  override readonly name = 'SecretUnavailable'
}

export class SecretRefs {
  readonly #patterns: Pattern[]

  /** `prefixes` such as `env:CARILLON_SECRET_*` and `file:/run/secrets/*`. */
  constructor(prefixes: readonly string[]) {
    this.#patterns = prefixes.map(patternOf)
  }

  allows(ref: string): boolean {
    return isWellFormed(ref) && this.#patternOf(ref) !== undefined
  }

  /** `trusted`: the operator's own reference, which needs no prefix. */
  async resolve(ref: string, options: { trusted?: boolean } = {}): Promise<string> {
    const pattern = this.#patternOf(ref)
    if (!isWellFormed(ref) || (!pattern && !options.trusted)) throw new SecretUnavailable(`${ref} is not allowed here`)
    const name = nameOf(ref)
    const value = ref.startsWith('env:') ? process.env[name] : await this.#readFile(ref, name, pattern)
    if (value === undefined || value === '') throw new SecretUnavailable(`${ref} is not set on this node`)
    return value
  }

  #patternOf(ref: string): Pattern | undefined {
    const name = nameOf(ref)
    return this.#patterns.find(
      ({ scheme, start, whole }) =>
        ref.startsWith(`${scheme}:`) && (whole ? name === start : name.startsWith(start) && name.length > start.length),
    )
  }

  async #readFile(ref: string, path: string, pattern: Pattern | undefined): Promise<string> {
    try {
      const real = await realpath(path)
      // A link may lead elsewhere within the allowed directory, as mounted secrets do, but not out of it.
      if (pattern && !pattern.whole && !real.startsWith(within(await realpath(directoryOf(pattern))))) {
        throw new SecretUnavailable(`${ref} leads out of what is allowed`)
      }
      return await readText(real)
    } catch (error) {
      if (error instanceof SecretUnavailable) throw error
      throw new SecretUnavailable(
        `${ref} cannot be read on this node (${(error as { code?: string }).code ?? 'unknown'})`,
      )
    }
  }
}

async function readText(path: string): Promise<string> {
  // Before it is opened: a pipe would wait for a writer.
  if (!(await stat(path)).isFile()) throw Object.assign(new Error(), { code: 'not a file' })
  const file = await open(path, 'r')
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0)
    if (bytesRead > maxBytes) throw Object.assign(new Error(), { code: 'too large' })
    // Editors and `echo` end files with a line break that is not part of the secret.
    return buffer.toString('utf8', 0, bytesRead).replace(/\r?\n$/, '')
  } finally {
    await file.close()
  }
}

/** What could name a variable or an absolute path without detours. */
export function isWellFormed(ref: string): boolean {
  const name = nameOf(ref)
  if (ref.startsWith('env:')) return variable.test(name)
  return ref.startsWith('file:') && name.startsWith('/') && normalize(name) === name && !name.includes('\0')
}

function patternOf(text: string): Pattern {
  const whole = !text.endsWith('*')
  const start = nameOf(whole ? text : text.slice(0, -1))
  const scheme = text.startsWith('env:') ? 'env' : 'file'
  const broad = scheme === 'env' ? start === '' : start === '' || start === '/'
  // Made into a reference that it would allow, it must be one.
  const known = text.startsWith(`${scheme}:`)
  if (!known || broad || start.includes('*') || !isWellFormed(`${scheme}:${start}${whole ? '' : 'x'}`)) {
    throw new CarillonError('CONFIG_INVALID', {
      pointer: '/targets/secrets',
      message: `${text} is not a prefix of secrets`,
      hint: 'Use such as env:CARILLON_SECRET_* or file:/run/secrets/*',
    })
  }
  return { scheme, start, whole }
}

function directoryOf({ start }: Pattern): string {
  return start.endsWith('/') ? start : dirname(start)
}

function within(directory: string): string {
  return directory.endsWith(sep) ? directory : directory + sep
}

function nameOf(ref: string): string {
  return ref.slice(ref.indexOf(':') + 1)
}
