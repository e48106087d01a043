/** What a program prints, without its secrets: they may come in pieces, so what could be the beginning of one waits for what follows. */
import { StringDecoder } from 'node:string_decoder'
import type { Redaction } from './redaction.ts'

export class RedactedStream {
  readonly #redaction: Redaction
  readonly #onText: (chunk: Buffer) => void
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  constructor(redaction: Redaction, onText: (chunk: Buffer) => void) {
    this.#redaction = redaction
    this.#onText = onText
  }

  add(chunk: Buffer): void {
    if (this.#redaction.isEmpty) {
      this.#onText(chunk)
      return
    }
    const { clean, rest } = this.#redaction.cleanPart(this.#rest + this.#decoder.write(chunk))
    this.#rest = rest
    if (clean !== '') this.#onText(Buffer.from(clean))
  }

  end(): void {
    const last = this.#redaction.clean(this.#rest + this.#decoder.end())
    this.#rest = ''
    if (last !== '') this.#onText(Buffer.from(last))
  }
}
