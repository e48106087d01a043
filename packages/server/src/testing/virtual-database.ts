/**
 * The database of a node whose time a test sets. Each statement is told the time at which it is sent, so the time must not
 * change while one is under way: a LEASE that began a day ago would give out what became ready today with a lease that has
 * run out.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import { Database } from '../store/database.ts'
import type { VirtualClock } from './time.ts'

export class VirtualDatabase extends Database {
  readonly #clock: VirtualClock
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(url: string, clock: VirtualClock) {
    super({
      url,
      // A connection takes longest over what it does for the first time.
      maxConnections: 2,
      statementTimeoutMs: 30_000,
      applicationName: 'carillon test',
      virtualNow: () => new Date(clock.now()),
    })
    this.#clock = clock
  }

  override query<Row extends pg.QueryResultRow>(...statement: Parameters<Database['query']>): Promise<Row[]> {
    const answer = super.query<Row>(...statement)
    const over: Promise<unknown> = answer.then(nothing, nothing).then(() => this.#underWay.delete(over))
    this.#underWay.add(over)
    return answer
  }

  /** Sets the clock as soon as nothing is under way. */
  async setTime(at: number): Promise<void> {
    for (;;) {
      // What an answer leads to at once is sent in the same turn.
      await nextTurn()
      if (this.#underWay.size === 0) break
      await Promise.all(this.#underWay)
    }
    this.#clock.set(at)
  }
}

function nothing(): void {}
