/** What is still to happen, ordered by time and, within an instant, by when it was put in: a binary heap. */
import type { Owner } from './owner.ts'

export interface Event {
  at: number
  order: number
  owner: Owner
  run: () => unknown
  /** The world waits for what `run` answers: something outside of its time. */
  outside: boolean
  cancelled: boolean
}

export class EventQueue {
  readonly #heap: Event[] = []

  put(event: Event): void {
    const heap = this.#heap
    let at = heap.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(event, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = event
  }

  take(): Event | null {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined) return null
    if (heap.length === 0) return first
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      if (left >= heap.length) break
      const child = left + 1 < heap.length && isBefore(heap[left + 1]!, heap[left]!) ? left + 1 : left
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
