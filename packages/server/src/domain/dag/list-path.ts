/**
 * The way to the list that a step runs over: `results.find.files`, `results["find-2"].pages[0]`, `payload.files`. A path and no more, so
 * that every item stays the text it was.
 */
import { type ErrorDetail, limits } from '@carillon/contract'
import { itemsOf, membersOf, skipSpace } from '../../lib/json-walker.ts'

export interface ListPath {
  text: string
  /** The step whose result it begins with; null: it begins with the payload of the run. */
  step: string | null
  keys: (string | number)[]
}

/** What a step is given: JSON texts. `inputs`: members of an object, `results` among them. */
export interface Given {
  inputs: string | null
  payload: string | null
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

/** The items as they are written, or what is wrong. */
export function itemsAt(path: ListPath, { inputs, payload }: Given): string[] | { error: string } {
  const [text, keys] =
    path.step === null ? [payload ?? 'null', path.keys] : [`{${inputs ?? ''}}`, ['results', path.step, ...path.keys]]
  let at: number | null = skipSpace(text, 0)
  for (const key of keys) {
    at = valueAt(text, at, key)
    if (at === null) return { error: `${path.text} is not there` }
  }
  if (text[at] !== '[') return { error: `${path.text} is ${kindOf(text[at])}, not a list` }
  const items: string[] = []
  for (const { start, end } of itemsOf(text, at)) {
    items.push(text.slice(start, end))
    if (items.length > limits.items) return { error: `${path.text} has more than ${limits.items} items` }
  }
  return items
}

function valueAt(text: string, at: number, key: string | number): number | null {
  let found: number | null = null
  if (typeof key === 'string' && text[at] === '{') {
    // Of members with one name the last one counts, as it does everywhere else.
    for (const { name, start } of membersOf(text, at)) if (name === key) found = start
  } else if (typeof key === 'number' && text[at] === '[') {
    let place = 0
    for (const { start } of itemsOf(text, at)) {
      if (place++ === key) return start
    }
  }
  return found
}

function kindOf(first: string | undefined): string {
  if (first === '{') return 'an object'
  if (first === '"') return 'a text'
  if (first === 'n') return 'null'
  return first === 't' || first === 'f' ? 'true or false' : 'a number'
}

function textOf(quoted: string): string | null {
  try {
    return JSON.parse(quoted) as string
  } catch {
    return null
  }
}
