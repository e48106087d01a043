import { clip } from './text.ts'

const maxLines = 1_000
const maxBytes = 64 * 1024
const cutNote = '[the log was cut here: an attempt keeps 1,000 lines and 64 KiB]'

/** The log lines of one attempt, bounded. */
export class LogLines {
  readonly #lines: string[] = []
  #bytes = 0
  #closed = false

  get lines(): string[] {
    return this.#lines
  }

  /** True once a line was refused: nothing more is kept. */
  get closed(): boolean {
    return this.#closed
  }

  add(line: unknown): void {
    if (this.#closed) return
    if (this.#lines.length >= maxLines || this.#bytes >= maxBytes) {
      this.#lines.push(cutNote)
      this.#closed = true
      return
    }
    const text = clip(textOf(line), maxBytes - this.#bytes)
    this.#bytes += Buffer.byteLength(text) + 1
    this.#lines.push(text)
  }
}

function textOf(line: unknown): string {
  if (typeof line === 'string') return line
  try {
    return String(line)
  } catch {
    return '[a value that has no text]'
  }
}
