/** The items of the list that a step runs over, in the JSON texts that it is given. */
import { limits } from '@carillon/contract'
import type { ListPath } from '../domain/dag/list-path.ts'
import { itemsOf, membersOf, skipSpace } from '../lib/json-walker.ts'

/** What a step is given: JSON texts. `inputs`: members of an object, `results` among them. */
export interface Given {
  inputs: string | null
  payload: string | null
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
