/**
 * The one real PostgreSQL behind all nodes of the world. Statements come one after the other, in the world's order, and the
 * world waits for each. So that locks matter all the same, the commit of a statement may be held back: then other
 * statements run on other connections, one of them may have to wait for the held one, and whatever comes after that
 * waits too. Whether a statement waits is asked of the server, never guessed from the time it takes.
 */
import pg from 'pg'
import { parsers } from '../../packages/server/src/store/database.ts'
import type { World } from './world.ts'

const realTimeout = setTimeout

export interface Statement {
  name: string | null
  text: string
  values: unknown[]
  /** In the session that connections of one's own share, one after the other. */
  inSession: boolean
  /** How long its commit is held back; 0: not at all. */
  holdMs: number
  /** How long it may wait for others, in the world's time. */
  limitMs: number
  /** What the triggers of the simulation told while it ran. */
  told: string[]
  /** When it began, in the world's time. */
  beganAt: number
  /** Called after the commit, or when it failed. */
  done: (error: unknown, result: pg.QueryResult | null) => void
}

interface Line {
  client: pg.Client
  pid: number
  told: string[]
}

/** Every node asks this ten times a second, and it seldom changed since: then it is known. The triggers tell when it did. */
const timesName = 'read-virtual-times'
const timesChanged = '{"table" : "lanes"}'

/** For `values`: the database's time when the statement runs. */
export const serverTime = new Date(0)

export class Postgres {
  readonly #world: World
  readonly #lines: Line[]
  readonly #session: Line
  readonly #monitor: pg.Client
  #held: { line: Line; statement: Statement; result: pg.QueryResult } | null = null
  #blocked: { line: Line; statement: Statement; answer: Promise<Answer> } | null = null
  #queue: Statement[] = []
  #virtualTimes: pg.QueryResult | null = null
  count = 0

  constructor(world: World, { lines, session, monitor }: Connections) {
    this.#world = world
    this.#lines = lines
    this.#session = session
    this.#monitor = monitor
  }

  /** The statement has arrived. Resolves when it is answered, held or known to wait. */
  async run(statement: Statement): Promise<void> {
    if (this.#blocked !== null) {
      this.#queue.push(statement)
      return
    }
    this.count++
    statement.beganAt = this.#world.now
    if (statement.name === timesName && this.#virtualTimes !== null) {
      return this.#finish(statement, { error: null, result: this.#virtualTimes })
    }
    const line = statement.inSession ? this.#session : this.#lines.find((each) => each !== this.#held?.line)!
    if (this.#held !== null) await this.#beside(line, statement)
    else if (statement.holdMs > 0) await this.#hold(line, statement)
    else this.#finish(statement, await ask(line, statement, this.#world.now))
  }

  async #hold(line: Line, statement: Statement): Promise<void> {
    await line.client.query('begin')
    const answer = await ask(line, statement, this.#world.now)
    if (answer.result === null) {
      await line.client.query('rollback')
      this.#finish(statement, answer)
      return
    }
    this.#held = { line, statement, result: answer.result }
    this.#world.outside(statement.holdMs, () => this.#commit())
  }

  async #commit(): Promise<void> {
    const { line, statement, result } = this.#held!
    await line.client.query('commit')
    this.#held = null
    this.#finish(statement, { error: null, result })
    await this.#unblock()
  }

  async #beside(line: Line, statement: Statement): Promise<void> {
    const answer = ask(line, statement, this.#world.now)
    let known: Answer | null = null
    void answer.then((it) => {
      known = it
    })
    for (let waitMs = 1; ; waitMs = 2) {
      await Promise.race([answer, new Promise((resolve) => realTimeout(resolve, waitMs))])
      if (known !== null) return this.#finish(statement, known)
      const { rows } = await this.#monitor.query({
        name: 'blocking',
        text: 'select cardinality(pg_blocking_pids($1)) n',
        values: [line.pid],
      })
      if (known === null && Number(rows[0].n) > 0) break
    }
    this.#blocked = { line, statement, answer }
    this.#world.outside(statement.limitMs, () => this.#cancel(statement))
  }

  /** Its time is over: the server ends it, as its statement_timeout would. */
  async #cancel(statement: Statement): Promise<void> {
    if (this.#blocked?.statement !== statement) return
    await this.#monitor.query('select pg_cancel_backend($1)', [this.#blocked.line.pid])
    await this.#unblock()
  }

  async #unblock(): Promise<void> {
    const blocked = this.#blocked
    if (blocked === null) return
    const answer = await blocked.answer
    this.#blocked = null
    this.#finish(blocked.statement, answer)
    const queue = this.#queue
    this.#queue = []
    for (const statement of queue) await this.run(statement)
  }

  #finish(statement: Statement, { error, result }: Answer): void {
    if (statement.name === timesName && result !== null) this.#virtualTimes = result
    if (statement.told.some((text) => text === timesChanged)) this.#virtualTimes = null
    statement.done(error, result)
  }
}

interface Answer {
  error: unknown
  result: pg.QueryResult | null
}

async function ask(line: Line, statement: Statement, now: number): Promise<Answer> {
  const { name, text, values } = statement
  line.told = statement.told
  const at = new Date(now)
  const query = { text, values: values.map((value) => (value === serverTime ? at : value)) }
  try {
    return { error: null, result: await line.client.query(name === null ? query : { ...query, name }) }
  } catch (error) {
    return { error, result: null }
  }
}

export interface Connections {
  lines: Line[]
  session: Line
  monitor: pg.Client
}

/** Made before the world: whatever a connection needs of the machine's time it has then. */
export async function connect(url: string): Promise<Connections> {
  const [first, second, session] = [await lineTo(url), await lineTo(url), await lineTo(url)]
  return { lines: [first, second], session, monitor: await clientOf(url) }
}

async function lineTo(url: string): Promise<Line> {
  const client = await clientOf(url)
  const { rows } = await client.query('select pg_backend_pid() pid')
  const line: Line = { client, pid: rows[0].pid, told: [] }
  client.on('notice', ({ message }) => {
    if (message?.startsWith('told ')) line.told.push(message.slice('told '.length))
  })
  return line
}

async function clientOf(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'carillon simulation', types: parsers })
  await client.connect()
  return client
}
