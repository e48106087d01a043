/**
 * Keys of limits, as a job or a submission names them: the name of a limit, or a name and what is counted under it, such as
 * `acct:{payload.accountId}`. What stands in braces is taken from the payload when the work is asked for, so that everything that
 * counts is known from then on. carillon.resolve_limits in store/functions/submissions/ does the same in SQL.
 */
import { CarillonError, type ErrorDetail, limits } from '@carillon/contract'
import { itemsOf, membersOf, NotJson, parsePart, skipSpace, skipValue } from '../lib/json-walker.ts'

/** The limit that is named. */
export function limitNameOf(asked: string): string {
  const colon = asked.indexOf(':')
  return colon < 0 ? asked : asked.slice(0, colon)
}

/** The keys, each once, in the order in which they are named. `payload` is JSON text. Throws VALIDATION. */
export function limitKeys(asked: readonly string[], payload: string | null): string[] {
  const problems: ErrorDetail[] = []
  const keys = asked.map((each, i) => {
    const resolved = keyOf(each, payload)
    if (typeof resolved === 'string') return resolved
    problems.push({ pointer: `/limits/${i}`, ...resolved })
    return each
  })
  if (problems.length > 0) throw new CarillonError('VALIDATION', problems)
  return [...new Set(keys)]
}

/** What is wrong with one that is asked for, whatever the payload. */
export function limitProblem(asked: string): Omit<ErrorDetail, 'pointer'> | null {
  const name = limitNameOf(asked)
  const rest = asked.slice(name.length + 1)
  if (name === '' || (rest === '' && asked !== name))
    return { message: `${asked} is not a limit and its key`, hint: 'Such as acct or acct:{payload.accountId}' }
  if (/[{}]/.test(name))
    return { message: `${name} has braces in the name of the limit`, hint: 'Placeholders come after the colon' }
  for (const part of partsOf(rest)) {
    if (part.path === null && /[{}]/.test(part.text))
      return { message: `${asked} has a brace that is no placeholder`, hint: `Write ${example}` }
    if (part.path !== null && !placeholder.test(part.path))
      return { message: `{${part.path}} is not a place in the payload`, hint: `Write ${example}` }
  }
  return null
}

const example = 'a placeholder as {payload.accountId}, or {payload.lines.0.id}'
const placeholder = /^payload(\.[^.]+)*$/

interface Part {
  text: string
  /** Between the braces. */
  path: string | null
}

function partsOf(rest: string): Part[] {
  return rest.split(/(\{[^{}]*\})/).flatMap((text) => {
    if (text === '') return []
    const isPlaceholder = text.startsWith('{') && text.endsWith('}')
    return [{ text, path: isPlaceholder ? text.slice(1, -1) : null }]
  })
}

function keyOf(asked: string, payload: string | null): string | Omit<ErrorDetail, 'pointer'> {
  const problem = limitProblem(asked)
  if (problem !== null) return problem
  if (!asked.includes('{')) return checked(asked)
  const name = limitNameOf(asked)
  let key = `${name}:`
  for (const { text, path } of partsOf(asked.slice(key.length))) {
    if (path === null) {
      key += text
      continue
    }
    const found = scalarAt(payload, path.split('.').slice(1))
    if (typeof found !== 'string')
      return {
        message: `${path} of the limit ${name} ${found.is}`,
        hint: 'Give the field a text, a number, true or false, or leave out the limit',
      }
    key += found
  }
  return checked(key)
}

function checked(key: string): string | Omit<ErrorDetail, 'pointer'> {
  const name = limitNameOf(key)
  const rest = key.slice(name.length + 1)
  if (rest === '' && key !== name)
    return { message: `the key of the limit ${name} is empty`, hint: 'Give the field of the payload a value' }
  // A character outside the basic plane is one character, as it is for the database.
  if (rest.length > limits.limitKeyLength && [...rest].length > limits.limitKeyLength)
    return {
      message: `the key of the limit ${name} is longer than ${limits.limitKeyLength} characters`,
      hint: 'Use an id of what is counted',
    }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (/[\u0000-\u001f\u007f]/.test(rest) || !rest.isWellFormed())
    return {
      message: `the key of the limit ${name} has a control character or a lone surrogate`,
      hint: 'Use an id of what is counted',
    }
  return key
}

/** As it is written in the JSON; a text without its quotes. */
function scalarAt(payload: string | null, path: string[]): string | { is: string } {
  if (payload === null) return { is: 'is not there: there is no payload' }
  try {
    let at: number | null = skipSpace(payload, 0)
    for (const name of path) {
      at = valueAt(payload, at, name)
      if (at === null) return { is: 'is not there' }
    }
    const first = payload[at]
    if (first === '{') return { is: 'is an object' }
    if (first === '[') return { is: 'is a list' }
    if (first === 'n') return { is: 'is null' }
    const end = skipValue(payload, at)
    return first === '"' ? (parsePart(payload, at, end) as string) : payload.slice(at, end)
  } catch (error) {
    if (error instanceof NotJson) return { is: 'cannot be read: the payload is not JSON' }
    throw error
  }
}

const place = /^(0|[1-9][0-9]{0,8})$/

function valueAt(text: string, at: number, name: string): number | null {
  let found: number | null = null
  if (text[at] === '{') {
    // Of members with one name the last one counts, as it does everywhere else.
    for (const member of membersOf(text, at)) if (member.name === name) found = member.start
  } else if (text[at] === '[' && place.test(name)) {
    let left = Number(name)
    for (const { start } of itemsOf(text, at)) if (left-- === 0) return start
  }
  return found
}
