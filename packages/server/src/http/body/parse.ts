/**
 * From the text of a body to its value. A large one is parsed a piece at a time, so that the node goes on with other work in
 * between: the lists of a batch or a report are by far the largest part of it, and their items are small.
 */
import { JsonText, numbersIn } from '@carillon/contract'
import { eventLoopYielder } from '../../lib/event-loop-yielder.ts'
import { itemsOf, membersOf, NotJson, parsePart, skipSpace } from '../../lib/json-walker.ts'

/** Characters that are parsed in one go. */
const pieceLength = 64 * 1024
/** A smaller body is parsed in one go. */
export const smallLength = 512 * 1024

export async function parseInPieces(text: string): Promise<unknown> {
  const start = skipSpace(text, 0)
  if (text[start] !== '{') return JSON.parse(text)
  const yieldIfDue = eventLoopYielder()
  const body: Record<string, unknown> = {}
  let end = skipSpace(text, start + 1) + 1
  for (const member of membersOf(text, start)) {
    const isList = text[member.start] === '['
    const value = isList ? await parseList(text, member.start, yieldIfDue) : parsePart(text, member.start, member.end)
    // As JSON.parse does it: a property of its own, whatever its name.
    Object.defineProperty(body, member.name, { value, writable: true, enumerable: true, configurable: true })
    end = skipSpace(text, member.end) + 1
    const pause = yieldIfDue()
    if (pause) await pause
  }
  if (skipSpace(text, end) !== text.length) throw new NotJson(end)
  return body
}

async function parseList(text: string, start: number, yieldIfDue: () => Promise<void> | null): Promise<unknown[]> {
  const list: unknown[] = []
  let from = -1
  let to = start
  const take = () => {
    for (const item of parsePart(`[${text.slice(from, to)}]`, 0, Number.POSITIVE_INFINITY) as unknown[]) list.push(item)
    from = -1
  }
  for (const item of itemsOf(text, start)) {
    if (from === -1) from = item.start
    to = item.end
    if (to - from < pieceLength) continue
    take()
    const pause = yieldIfDue()
    if (pause) await pause
  }
  if (from !== -1) take()
  return list
}

/**
 * Puts the text itself in the places whose values the node only passes on, where the text has numbers that would not come
 * back as they were written. The places are JSON pointers in which `*` stands for every item of a list.
 */
export async function keepTexts(text: string, body: unknown, places: readonly string[]): Promise<void> {
  const yieldIfDue = eventLoopYielder()
  const start = skipSpace(text, 0)
  for (const place of places) await keep(text, start, body, place.split('/').slice(1), yieldIfDue)
}

async function keep(
  text: string,
  start: number,
  value: unknown,
  [name, ...rest]: string[],
  yieldIfDue: () => Promise<void> | null,
): Promise<void> {
  const pause = yieldIfDue()
  if (pause) await pause
  if (typeof value !== 'object' || value === null || name === undefined) return
  if (name === '*') {
    if (!Array.isArray(value)) return
    let i = 0
    for (const item of itemsOf(text, start)) await keep(text, item.start, value[i++], rest, yieldIfDue)
    return
  }
  if (Array.isArray(value)) return
  for (const member of membersOf(text, start)) {
    if (member.name !== name) continue
    const inner = (value as Record<string, unknown>)[name]
    if (rest.length > 0) await keep(text, member.start, inner, rest, yieldIfDue)
    else {
      // The last of several with one name counts.
      const written = text.slice(member.start, member.end)
      // One that is too large stays Infinity, and is refused as such.
      const kept = numbersIn(written) === 'CHANGED' ? new JsonText(written) : JSON.parse(written)
      ;(value as Record<string, unknown>)[name] = kept
    }
  }
}
