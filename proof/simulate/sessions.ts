/**
 * Connections of one's own (migrations, partitions): one at a time in the whole world, so that nobody waits inside the
 * server for a lock that somebody outside of it holds. A session ends with its owner.
 */
import type pg from 'pg'
import type { Network } from './network.ts'
import type { Postgres } from './postgres.ts'
import type { World } from './world.ts'

const limitMs = 60_000

export class Sessions {
  readonly #options: { world: World; network: Network; postgres: Postgres }
  #taken = false
  #waiting: (() => void)[] = []

  constructor(options: { world: World; network: Network; postgres: Postgres }) {
    this.#options = options
  }

  async open(): Promise<Session> {
    const { world } = this.#options
    const { owner } = world
    while (this.#taken) await new Promise<void>((resolve) => this.#waiting.push(() => world.later(1, resolve, owner)))
    this.#taken = true
    const session: Session = new Session(
      (text, values) => this.#ask(session, text, values),
      () => this.#close(),
    )
    owner.onGone(() => session.release())
    return session
  }

  #ask(session: Session, text: string, values: unknown[]): Promise<pg.QueryResult> {
    const { world, network, postgres } = this.#options
    const owner = world.owner
    return new Promise((resolve, reject) => {
      const statement = {
        ...{ name: null, text, values, inSession: true, holdMs: 0, limitMs, told: [], beganAt: 0 },
        done: (error: unknown, result: pg.QueryResult | null) =>
          world.later(network.latency(), () => (error ? reject(error) : resolve(result!)), owner),
      }
      // The server hangs up with its client: what is still on its way then is not run.
      world.outside(network.between(0, 1), async () => {
        if (!session.isReleased) await postgres.run(statement)
      })
    })
  }

  #close(): void {
    const { world, postgres } = this.#options
    const text = 'rollback; select pg_advisory_unlock_all(); reset all'
    const done = () => {
      this.#taken = false
      const waiting = this.#waiting
      this.#waiting = []
      for (const wake of waiting) wake()
    }
    const statement = {
      ...{ name: null, text, values: [], inSession: true, holdMs: 0, limitMs, told: [], beganAt: 0, done },
    }
    world.outside(0, () => postgres.run(statement))
  }
}

/** As much of a client as is used of one. */
export class Session {
  readonly #ask: (text: string, values: unknown[]) => Promise<pg.QueryResult>
  readonly #close: () => void
  #released = false

  constructor(ask: (text: string, values: unknown[]) => Promise<pg.QueryResult>, close: () => void) {
    this.#ask = ask
    this.#close = close
  }

  query(text: string, values: unknown[] = []): Promise<pg.QueryResult> {
    return this.#ask(text, values)
  }

  get isReleased(): boolean {
    return this.#released
  }

  on(): this {
    return this
  }

  release(): void {
    if (this.#released) return
    this.#released = true
    this.#close()
  }
}
