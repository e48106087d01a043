/** Growing delays between tries, with a random half so that many do not come back together. */
export class Backoff {
  readonly #initialMs: number
  readonly #maxMs: number
  #tries = 0

  constructor({ initialMs = 100, maxMs = 5_000 }: { initialMs?: number; maxMs?: number } = {}) {
    this.#initialMs = initialMs
    this.#maxMs = maxMs
  }

  nextMs(): number {
    const full = Math.min(this.#maxMs, this.#initialMs * 2 ** this.#tries)
    if (full < this.#maxMs) this.#tries++
    return full / 2 + (Math.random() * full) / 2
  }

  reset(): void {
    this.#tries = 0
  }
}
