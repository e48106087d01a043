/**
 * A worker as the node sees one: registered, with a long poll open, reporting every few seconds what it holds and how far
 * each of it has come. It runs nothing, so that thousands of them fit into one process beside what is measured. It has two
 * connections of its own, as a worker of the SDK has: one waits, the other reports.
 */
import { RawConnection } from '../load/raw-connection.ts'
import { requestText } from '../load/requests.ts'

export interface FleetOptions {
  url: string
  token: string
  /** Where it takes what it is to run from, so many for each worker. */
  pool: string
  running: number
  /** Where it waits for more, with one slot free. */
  idlePool: string
  handler: string
}

export interface FleetCounts {
  reports: number
  polls: number
  /** Executions the installation says are not the worker's any more. */
  lost: number
}

interface Held {
  executionId: string
  fence: number
}

/** What the SDK asks for. */
const waitMs = 20_000

export class FleetWorker {
  readonly #options: FleetOptions
  readonly #counts: FleetCounts
  readonly #onFailure: (error: Error) => void
  readonly #host: string
  readonly #held: Held[] = []
  #workerId = ''
  /** Opened with its first request: a node closes a connection that asks for nothing for ten seconds. */
  #leasing: RawConnection | null = null
  #reporting!: RawConnection
  #beat: NodeJS.Timeout | null = null
  #busy = false
  #steps = 0
  #leaving = false

  constructor(options: FleetOptions, counts: FleetCounts, onFailure: (error: Error) => void) {
    this.#options = options
    this.#counts = counts
    this.#onFailure = onFailure
    this.#host = new URL(options.url).host
  }

  /** Registers and takes what it is to run; answers when it has that. */
  async join(name: string): Promise<void> {
    const { pool, idlePool, handler, running } = this.#options
    this.#reporting = await this.#open()
    const pools = [
      { pool, handlers: [handler], slots: running },
      { pool: idlePool, handlers: [handler], slots: 1 },
    ]
    const welcome = await this.#ask<{ workerId: string; heartbeatEveryMs: number }>(this.#reporting, '/v1/workers', {
      name,
      pools,
    })
    this.#workerId = welcome.workerId
    const { heartbeatEveryMs } = welcome
    const report = () => void this.#report().catch(this.#onFailure)
    // Not all at once: each begins somewhere in the first interval.
    this.#beat = setTimeout(() => {
      report()
      this.#beat = setInterval(report, heartbeatEveryMs)
    }, Math.random() * heartbeatEveryMs)
    while (this.#held.length < running) await this.#lease({ pool, slots: running - this.#held.length, waitMs })
  }

  /** Keeps a long poll open from now on. */
  async wait(): Promise<void> {
    const { idlePool } = this.#options
    // The first one for a random time: they do not come back all together.
    await this.#lease({ pool: idlePool, slots: 1, waitMs: Math.floor(Math.random() * waitMs) })
    while (!this.#leaving) await this.#lease({ pool: idlePool, slots: 1, waitMs })
  }

  /** Says that everything it ran has succeeded, and leaves. */
  async leave(): Promise<void> {
    this.#leaving = true
    clearTimeout(this.#beat!)
    while (this.#busy) await new Promise((resolve) => setTimeout(resolve, 5))
    const outcomes = this.#held.map((held) => ({ outcome: 'SUCCEEDED', ...held }))
    const said = await this.#ask<{ outcomes: string[] }>(this.#reporting, this.#path('report'), { outcomes })
    if (said.outcomes.some((verdict) => verdict !== 'ACCEPTED')) throw new Error(`outcomes were ${said.outcomes}`)
    this.#leasing?.close()
    this.#reporting.close()
    const { url, token } = this.#options
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(new URL(`/v1/workers/${this.#workerId}`, url), { method: 'DELETE', headers })
    if (answer.status !== 204) throw new Error(`leaving was answered ${answer.status}`)
  }

  async #lease(body: { pool: string; slots: number; waitMs: number }): Promise<void> {
    this.#leasing ??= await this.#open()
    const { executions } = await this.#ask<{ executions: Held[] }>(this.#leasing, this.#path('lease'), body)
    for (const { executionId, fence } of executions) this.#held.push({ executionId, fence })
    this.#counts.polls++
  }

  async #report(): Promise<void> {
    if (this.#busy || this.#leaving) return
    this.#busy = true
    try {
      const progress = this.#held.map((held) => ({ ...held, progress: { step: this.#steps++ } }))
      const said = await this.#ask<{ lost: Held[] }>(this.#reporting, this.#path('report'), {
        progress,
        held: this.#held,
      })
      this.#counts.reports++
      this.#counts.lost += said.lost.length
    } finally {
      this.#busy = false
    }
  }

  #path(verb: string): string {
    return `/v1/workers/${this.#workerId}/${verb}`
  }

  #ask<Answer>(connection: RawConnection, path: string, body: object): Promise<Answer> {
    const request = requestText({ method: 'POST', path, host: this.#host, token: this.#options.token, body })
    return new Promise((resolve, reject) => {
      connection.send(request, ({ status, bytes, bodyStart, bodyEnd }) => {
        const text = bytes.toString('latin1', bodyStart, bodyEnd)
        if (status < 300) resolve(JSON.parse(text))
        else reject(new Error(`${path} was answered ${status}: ${text}`))
      })
    })
  }

  #open(): Promise<RawConnection> {
    return RawConnection.open(this.#options.url, (error) => this.#lostConnection(error))
  }

  #lostConnection(error: Error): void {
    if (!this.#leaving) this.#onFailure(error)
  }
}
