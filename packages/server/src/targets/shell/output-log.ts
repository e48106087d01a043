/**
 * The log of a program: its first lines as it prints them, so that it can be followed, and at its end the last ones, where it says
 * why it failed. What it printed in between, if that is more than an attempt's log holds (64 KiB, 1,000 lines), is counted.
 */
import { StringDecoder } from 'node:string_decoder'
import { Tail } from './tail.ts'

const headBytes = 30 * 1024
const tailBytes = 30 * 1024
/** Of each. */
const mostLines = 490

export class OutputLog {
  /** The last line that is not empty. */
  lastLine = ''
  readonly #log: (line: string) => void
  readonly #decoder = new StringDecoder('utf8')
  readonly #tail = new Tail(tailBytes)
  #headLines = 0
  #headBytes = 0
  /** What was printed after the last line feed. */
  #rest = ''
  /** The head is full: only the end counts from here on. */
  #full = false

  constructor(log: (line: string) => void) {
    this.#log = log
  }

  add(chunk: Buffer): void {
    if (this.#full) {
      this.#tail.add(chunk)
      return
    }
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n')
    while (lines.length > 1 && this.#headLines < mostLines && this.#headBytes < headBytes)
      this.#addToHead(lines.shift()!)
    this.#rest = lines.join('\n')
    if (lines.length === 1 && this.#rest.length < headBytes) return
    this.#full = true
    this.#tail.add(Buffer.from(this.#rest))
    this.#rest = ''
  }

  /** The program has ended. */
  end(): void {
    const lines = (this.#full ? this.#tail.toString() : this.#rest).split('\n')
    if (lines.at(-1) === '') lines.pop()
    const left = lines.slice(-mostLines)
    if (this.#tail.dropped > 0) this.#log(`[${this.#tail.dropped} bytes here are not kept]`)
    else if (left.length < lines.length) this.#log(`[${lines.length - left.length} lines here are not kept]`)
    for (const line of left) this.#say(line)
  }

  #addToHead(line: string): void {
    this.#headLines++
    this.#headBytes += Buffer.byteLength(line) + 1
    this.#say(line)
  }

  #say(line: string): void {
    if (line.trim() !== '') this.lastLine = line
    this.#log(line)
  }
}
