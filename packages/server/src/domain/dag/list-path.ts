/**
 * The way to the list that a step runs over: `results.find.files`, `results["find-2"].pages[0]`, `payload.files`. A path and no more, so
 * that every item stays the text it was.
 */
import type { ErrorDetail } from '@carillon/contract'

export interface ListPath {
  text: string
  /** The step whose result it begins with; null: it begins with the payload of the run. */
  step: string | null
  keys: (string | number)[]
}

const hint = 'Such as results.find.files, results["find-2"] or payload.files'
const next = /\.([A-Za-z_][A-Za-z0-9_]*)|\[("(?:[^"\\]|\\.)*")\]|\[(\d{1,6})\]/y

/** Null: it is none. */
export function parseListPath(text: string): ListPath | null {
  const root = /^(results|payload)(?![A-Za-z0-9_])/.exec(text)?.[1]
  if (root === undefined) return null
  const keys: (string | number)[] = []
  next.lastIndex = root.length
  while (next.lastIndex < text.length) {
    const found = next.exec(text)
    if (found === null) return null
    const [, name, quoted, index] = found
    const key = name ?? (quoted === undefined ? Number(index) : textOf(quoted))
    if (key === null) return null
    keys.push(key)
  }
  if (root === 'payload') return { text, step: null, keys }
  const [step, ...rest] = keys
  return typeof step === 'string' ? { text, step, keys: rest } : null
}

/** Of a step with this path; empty: it leads somewhere. */
export function listPathProblems(text: string, dependsOn: readonly string[]): ErrorDetail[] {
  const path = parseListPath(text)
  if (path === null) return [{ message: `forEach: ${text.slice(0, 100)} is not the way to a list`, hint }]
  if (path.step === null || dependsOn.includes(path.step)) return []
  const message = `forEach: ${path.step} is none of the steps it depends on`
  return [{ message, hint: `Add ${path.step} to its dependsOn` }]
}

function textOf(quoted: string): string | null {
  try {
    return JSON.parse(quoted) as string
  } catch {
    return null
  }
}
