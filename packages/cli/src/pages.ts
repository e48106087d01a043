/** Lists of any length, page by page. */
import { InvalidArgumentError } from 'commander'

interface Page<Item> {
  items: Item[]
  nextCursor: string | null
}

export interface Listed<Item> {
  items: Item[]
  /** There is more than was asked for. */
  more: boolean
}

const largestPage = 1_000

/** Follows the pages until there are `limit` items, or no more. */
export async function list<Item>(
  limit: number,
  read: (page: { limit: number; cursor?: string }) => Promise<Page<Item>>,
): Promise<Listed<Item>> {
  const items: Item[] = []
  let cursor: string | undefined
  for (;;) {
    const page = await read({ limit: Math.min(limit - items.length, largestPage), cursor })
    items.push(...page.items)
    cursor = page.nextCursor ?? undefined
    if (cursor === undefined || items.length >= limit) return { items, more: cursor !== undefined }
  }
}

export function wholeNumber(from: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (!/^\d+$/.test(text) || number < from) throw new InvalidArgumentError(`Give a whole number from ${from}.`)
    return number
  }
}

export const limitOption = ['--limit <count>', 'the most to list', wholeNumber(1), 50] as const
