/**
 * What a node has instead of its connections: every statement is on its way for a while, runs when it arrives, and its
 * answer is on its way again. A statement that was sent arrives, whatever becomes of the node meanwhile; a statement that
 * failed may have happened.
 */
import type pg from 'pg'
import { ConnectionLostError } from '../../packages/server/src/lib/postgres-client.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { mayRetryAtOnce } from '../../packages/server/src/store/trouble.ts'
import type { Network } from './network.ts'
import { type Postgres, type Statement, serverTime } from './postgres.ts'
import type { Session, Sessions } from './sessions.ts'
import type { Trace } from './trace.ts'
import type { World } from './world.ts'

const statementTimeoutMs = 1_800
/** As the real one: a server that says nothing by then is frozen. */
const silenceMs = 5_000

/** Statements that lock what others want: these are held back so many times as often. */
const contended = new Map<string | null, number>([
  ...(['fire', 'change-job', 'report', 'cancel', 'claim-shards', 'advance'] as const).map((name) => [name, 5] as const),
  ['trigger-once', 25],
])

export interface SimulatedDatabaseOptions {
  world: World
  network: Network
  postgres: Postgres
  sessions: Sessions
  trace: Trace
  /** For broken variants: may change a statement before it is sent, and what is answered. */
  tamper?: Tamper
  /** Called when a leader's FIRE or ADVANCE is to come too late; answers how late. */
  onLeaderLost: () => number
}

export interface Tamper {
  before?: (statement: { name: string | null; text: string; values: unknown[] }) => void
  after?: (
    name: string | null,
    rows: Record<string, unknown>[],
    database: Database,
    values: unknown[],
  ) => void | Promise<void>
}

export class SimulatedDatabase extends Database {
  readonly #options: SimulatedDatabaseOptions

  constructor(options: SimulatedDatabaseOptions) {
    super({ url: 'postgres://nowhere', maxConnections: 1, statementTimeoutMs, applicationName: 'simulation' })
    this.#options = options
  }

  override get now(): Date {
    return serverTime
  }

  override async query<Row extends pg.QueryResultRow>(
    name: string | null,
    text: string,
    values: unknown[] = [],
    options: { withinMs?: number } = {},
  ): Promise<Row[]> {
    const limitMs = options.withinMs ?? statementTimeoutMs
    for (let tries = 1; ; tries++) {
      try {
        return (await this.#ask(name, text, values, limitMs)) as Row[]
      } catch (error) {
        if (tries >= 10 || !mayRetryAtOnce(error)) throw error
      }
    }
  }

  override connect(): Promise<pg.PoolClient> {
    return this.#options.sessions.open() as Promise<Session> as unknown as Promise<pg.PoolClient>
  }

  override async end(): Promise<void> {}

  async #ask(name: string | null, text: string, given: unknown[], limitMs: number): Promise<unknown[]> {
    const { world, network, postgres, trace, tamper } = this.#options
    const owner = world.owner
    const sent = { name, text, values: [...given] }
    tamper?.before?.(sent)
    const about = `${owner.name} ${name ?? text.slice(0, 40)}`
    const rows = await new Promise<Record<string, unknown>[]>((resolve, reject) => {
      let over = false
      const settle = (end: () => void, delayMs: number) =>
        world.later(
          delayMs,
          () => {
            if (over) return
            over = true
            silence.cancelled = true
            end()
          },
          owner,
        )
      const silence = world.later(limitMs + silenceMs, () => {
        over = true
        reject(lost('no answer'))
      })
      const fails = network.hits('failBefore', about)
      const statement: Statement = {
        ...{ ...sent, limitMs, inSession: false, told: [], beganAt: 0 },
        holdMs: fails || !network.hits('heldCommit', about, contended.get(name) ?? 1) ? 0 : network.between(5, 400),
        done: (error, result) => {
          if (error) return settle(() => reject(error), network.latency())
          trace.ran(statement, result!.rows)
          if (network.hits('failAfter', about)) settle(() => reject(lost('ECONNRESET')), network.between(1, 200))
          else settle(() => resolve(result!.rows), this.#back(about))
        },
      }
      if (fails) settle(() => reject(lost('ECONNRESET')), network.between(1, 200))
      else world.outside(this.#there(name, about), () => postgres.run(statement))
    })
    await tamper?.after?.(name, rows, this, sent.values)
    return rows
  }

  #there(name: string | null, about: string): number {
    const { network } = this.#options
    if ((name?.startsWith('fire') || name === 'advance') && network.hits('leaderLost', about))
      return this.#options.onLeaderLost()
    return network.hits('slowStatement', about) ? network.between(50, 2_500) : network.between(0, 1)
  }

  #back(about: string): number {
    const { network } = this.#options
    return network.hits('slowStatement', about) ? network.between(50, 2_500) : network.between(1, 2)
  }
}

function lost(why: string): ConnectionLostError {
  return new ConnectionLostError(null, why)
}
