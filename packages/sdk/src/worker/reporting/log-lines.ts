import { clip } from './text.ts'

const maxLines = 1_000
const maxBytes = 64 * 1024
const cutNote = '[the log was cut here: an attempt keeps 1,000 lines and 64 KiB]'

/** The log lines of one attempt, bounded, and how many of them the installation has. A line has no line feed. */
export class LogLines {
  readonly lines: string[] = []
  /** When each was logged. */
  readonly times: number[] = []
  /** How many the installation has said it has. */
  stored = 0
  #bytes = 0
  #closed = false

  /** True once a line was refused: nothing more is kept. */
  get closed(): boolean {
    return this.#closed
  }

  add(value: unknown, at = 0): void {
    const text = textOf(value)
    if (!text.includes('\n')) this.#add(text, at)
    else for (const line of text.slice(0, maxBytes + 1).split('\n')) this.#add(line, at)
  }

  #add(line: string, at: number): void {
    if (this.#closed) return
    const full = this.lines.length >= maxLines || this.#bytes >= maxBytes
    const text = full ? cutNote : clip(line, maxBytes - this.#bytes)
    this.#closed = full
    this.#bytes += Buffer.byteLength(text) + 1
    this.lines.push(text)
    this.times.push(at)
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
