/**
 * What messages have told this node of: rows of a pool's queue, by lane, that it has not tried to lease yet. Smaller tags come first,
 * whatever the order of the messages was.
 */
import { priorities } from '@carillon/contract'
import type { Leased } from '../../store/executions/lease.ts'
import type { SelectedKey } from '../port.ts'

/** Where a message came from. */
export interface MessagePlace {
  topic: string
  partition: number
  offset: bigint
}

interface Told extends SelectedKey {
  place: MessagePlace
}

export class ToldRows {
  readonly #lanes: Told[][] = priorities.map(() => [])
  readonly #unsorted = new Set<number>()
  /** All of them, by tag and execution. */
  readonly #known = new Set<string>()

  get size(): number {
    return this.#lanes.reduce((sum, rows) => sum + rows.length, 0)
  }

  /** A message that comes twice, because its partition went to another node or it was published again, counts once. */
  add(key: SelectedKey, place: MessagePlace): void {
    const rows = this.#lanes[key.lane]
    if (rows === undefined || this.#known.has(nameOf(key))) return
    this.#known.add(nameOf(key))
    const last = rows.at(-1)
    if (last !== undefined && last.tag > key.tag) this.#unsorted.add(key.lane)
    rows.push({ ...key, place })
  }

  /** Of each lane the first ones, at most so many: LEASE gives the lanes their turns. */
  first(count: number): SelectedKey[] {
    for (const lane of this.#unsorted) this.#lanes[lane]!.sort((a, b) => a.tag - b.tag)
    this.#unsorted.clear()
    return this.#lanes.flatMap((rows) => rows.slice(0, count))
  }

  /**
   * A LEASE of these, which `first` answered, has committed; others may have come meanwhile. Of each lane it took what it found up to the
   * tag it reached; what it did not find there is gone. `all`: it did not fill all slots, so it has tried all. Of those with the tag it
   * reached some may not have been tried: they are kept, and tried again.
   */
  settled(tried: readonly SelectedKey[], leased: readonly Leased[], all: boolean): void {
    const reached = new Map<number, number>()
    for (const { lane, reached: tag } of leased) reached.set(lane, Math.max(tag, reached.get(lane) ?? 0))
    const done = tried.filter(({ lane, tag }) => all || tag < (reached.get(lane) ?? Number.NEGATIVE_INFINITY))
    const names = new Set(done.map(nameOf))
    for (const [lane, rows] of this.#lanes.entries()) this.#lanes[lane] = rows.filter((row) => !names.has(nameOf(row)))
    for (const name of names) this.#known.delete(name)
  }

  clear(): void {
    for (const rows of this.#lanes) rows.length = 0
    this.#unsorted.clear()
    this.#known.clear()
  }

  /** By topic and partition, the first message that is not settled. */
  unsettled(): Map<string, bigint> {
    const first = new Map<string, bigint>()
    for (const { place } of this.#lanes.flat()) {
      const key = partitionKey(place)
      const known = first.get(key)
      if (known === undefined || place.offset < known) first.set(key, place.offset)
    }
    return first
  }
}

function nameOf({ tag, executionId }: SelectedKey): string {
  return `${tag} ${executionId}`
}

export function partitionKey({ topic, partition }: Omit<MessagePlace, 'offset'>): string {
  return `${topic}:${partition}`
}
