import { CarillonError, limits } from '@carillon/contract'

/**
 * Returns `name` if it can name a handler or a pool everywhere: in SQL text, in a URL, in a log line.
 *
 * @example
 * ```ts
 * import { checkName } from '@carillon/sdk'
 *
 * checkName('pool', 'email-sender') // 'email-sender'
 * ```
 */
export function checkName(what: 'handler' | 'pool', name: unknown): string {
  const problem = problemOf(name)
  if (problem !== null) {
    throw new CarillonError('VALIDATION', {
      pointer: `/${what}`,
      message: `The name of a ${what} ${problem}`,
      hint: `use 1 to ${limits.nameLength} printable characters`,
    })
  }
  return name as string
}

function problemOf(name: unknown): string | null {
  if (typeof name !== 'string') return `must be a string, not ${name === null ? 'null' : typeof name}`
  if (name.length === 0) return 'is empty'
  if (name.length > limits.nameLength) return `has ${name.length} characters`
  if (/\p{Cc}/u.test(name)) return 'contains a control character'
  if (!name.isWellFormed()) return 'contains half of a surrogate pair'
  return null
}
