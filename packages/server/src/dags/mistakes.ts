/** What is wrong with the parts of a request, each under the pointer of its part. As in a batch: one code if all have the same. */
import { CarillonError, type ErrorCode, type ErrorDetail } from '@carillon/contract'

const most = 50

export class Mistakes {
  readonly #details: ErrorDetail[] = []
  readonly #codes = new Set<ErrorCode>()

  add(details: readonly ErrorDetail[], code: ErrorCode = 'VALIDATION'): void {
    if (details.length === 0) return
    this.#codes.add(code)
    this.#details.push(...details)
  }

  /** Null: it was refused, and why is kept. */
  async try<T>(pointer: string, check: () => T | Promise<T>): Promise<T | null> {
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof CarillonError) || error.status >= 500) throw error
      this.add(
        error.errors.map((detail) => ({ ...detail, pointer: pointer + (detail.pointer ?? '') })),
        error.code,
      )
      return null
    }
  }

  /** So many that more would help nobody. */
  get many(): boolean {
    return this.#details.length >= most
  }

  throwIfAny(): void {
    const [code] = this.#codes
    if (code === undefined) return
    const details = this.#details.slice(0, most)
    const left = this.#details.length - most
    if (left > 0) details.push({ message: `and ${left} more`, hint: 'Correct these first' })
    throw new CarillonError(this.#codes.size === 1 ? code : 'VALIDATION', details)
  }
}
