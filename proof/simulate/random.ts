/** Numbers from a seed. The same seed and name give the same numbers; streams of other names are independent of them. */
import { createHash } from 'node:crypto'

export class Random {
  readonly #seed: string
  #a: number
  #b: number
  #c: number
  #d: number

  constructor(seed: number | string, name = '') {
    this.#seed = `${seed}/${name}`
    const words = createHash('sha256').update(this.#seed).digest()
    this.#a = words.readInt32LE(0)
    this.#b = words.readInt32LE(4)
    this.#c = words.readInt32LE(8)
    this.#d = 1
  }

  fork(name: string): Random {
    return new Random(this.#seed, name)
  }

  /** From 0 to below 1: a small fast counter, 32 bits at a time. */
  next(): number {
    const sum = (this.#a + this.#b + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  pick<T>(list: readonly T[]): T {
    return list[this.whole(0, list.length - 1)]!
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.alloc(count)
    for (let i = 0; i < count; i++) bytes[i] = this.whole(0, 255)
    return bytes
  }

  uuid(): string {
    const hex = this.bytes(16).toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
  }
}
