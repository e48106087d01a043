/** A listener that writes down everything that comes. */
import type { Event, EventReset } from '@carillon/contract'
import { serverSent } from '../../../packages/sdk/src/http/server-sent.ts'
import { until } from '../../support/until.ts'

export class Tail {
  readonly all: (Event | EventReset)[] = []
  /** From here the stream goes on, by its own word. */
  place = ''
  ended = false
  readonly #answer: Response
  readonly #closing: AbortController
  readonly #reading: Promise<void>

  private constructor(answer: Response, closing: AbortController) {
    this.#answer = answer
    this.#closing = closing
    this.#reading = this.#read().catch(() => {})
  }

  /** Resolves once the node has taken it on. */
  static async open(url: string, query = '', headers: Record<string, string> = {}): Promise<Tail> {
    const closing = new AbortController()
    const answer = await fetch(`${url}/v1/events${query}`, { headers, signal: closing.signal })
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
    return new Tail(answer, closing)
  }

  get headers(): Headers {
    return this.#answer.headers
  }

  get events(): Event[] {
    return this.all.filter((event) => event.type !== 'reset') as Event[]
  }

  get ids(): number[] {
    return this.events.map(({ eventId }) => eventId)
  }

  get types(): string[] {
    return this.all.map(({ type }) => type)
  }

  /** What was told of an execution or a job, in order. */
  of(id: string): string[] {
    return this.events.filter((event) => (event.executionId ?? event.jobId) === id).map(({ type }) => type)
  }

  find(type: string, id: string): Event | undefined {
    return this.events.find((event) => event.type === type && (event.executionId ?? event.jobId) === id)
  }

  async until(holds: (tail: this) => boolean): Promise<void> {
    await until(() => holds(this)).catch(() => {
      throw new Error(`that was never told: ${holds}; but ${JSON.stringify(this.types)}`)
    })
  }

  /** Cuts the connection. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#reading
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #read(): Promise<void> {
    try {
      for await (const { id, data } of serverSent(this.#answer.body!)) {
        if (id !== null) this.place = id
        if (data !== null) this.all.push(JSON.parse(data))
      }
    } finally {
      this.ended = true
    }
  }
}
