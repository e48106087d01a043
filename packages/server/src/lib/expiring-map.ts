/** Remembers a limited number of things, each until its time. When it is full, what was put in first makes room. */
export class ExpiringMap<Key, Value> {
  readonly #entries = new Map<Key, { value: Value; until: number }>()
  readonly #maxEntries: number

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key, now: number): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (now < entry.until) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  set(key: Key, value: Value, until: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, until })
    if (this.#entries.size <= this.#maxEntries) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }
}
