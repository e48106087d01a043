/** The end of a stream of bytes: however much comes, no more than the last `maxBytes` are kept. */
export class Tail {
  readonly #maxBytes: number
  #chunks: Buffer[] = []
  #kept = 0
  #dropped = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes that came and are not kept. */
  get dropped(): number {
    return this.#dropped
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#kept += chunk.length
    // Twice as much before it is cut: then every byte is copied about once.
    if (this.#kept > 2 * this.#maxBytes) this.#cut()
  }

  toString(): string {
    this.#cut()
    return Buffer.concat(this.#chunks).toString('utf8')
  }

  #cut(): void {
    const all = Buffer.concat(this.#chunks)
    const kept = all.subarray(Math.max(0, all.length - this.#maxBytes))
    this.#dropped += all.length - kept.length
    // A copy: a view would keep what was cut off in memory.
    this.#chunks = [Buffer.from(kept)]
    this.#kept = kept.length
  }
}
