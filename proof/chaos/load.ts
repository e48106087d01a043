/**
 * The work of a run: recurring jobs of several tenants until its end, and a client that goes on submitting, triggering and
 * changing jobs. It keeps what it was told is accepted: that must be in the ledger. What it was not told may have happened
 * or not.
 */

import { setTimeout as after } from 'node:timers/promises'
import { silentLogger } from '@carillon/contract/process'
import { type Client, createClient } from '@carillon/sdk'
import type { Acknowledged, Signal } from '../history.ts'
import type { Random } from '../simulate/random.ts'
import { drawGraph, followersOf, graphJobs, innerGraph } from './graph-mix.ts'
import { recurringJobs } from './job-mix.ts'
import { Signaller } from './signaller.ts'
import type { Stage } from './stage.ts'
import { work } from './worker-process.ts'

export interface LoadOptions {
  stage: Stage
  random: Random
  /** Recurring jobs, of all tenants together. */
  jobs: number
  from: number
  to: number
}

const submitEveryMs = 250
const submitAtOnce = 10
const changeEveryMs = 700
const startRunEveryMs = 300
/** So many tenants have jobs that run graphs, and jobs that follow others: so many of each. */
const graphTenants = 2
const followedJobs = 2

export class Load {
  readonly acknowledged: Acknowledged[] = []
  /** Requests that were not answered, or with a refusal. */
  unanswered = 0
  readonly #options: LoadOptions
  readonly #clients: Client[]
  readonly #jobIds: string[][] = []
  readonly #ending = new AbortController()
  readonly #signaller: Signaller
  #runs = 0

  constructor(options: LoadOptions) {
    this.#options = options
    this.#signaller = new Signaller({ random: options.random.fork('signals'), signal: this.#ending.signal })
    const { clientUrls: urls, tokens } = options.stage
    this.#clients = [...tokens.tenants.values()].map((token) =>
      createClient({ urls, token, timeoutMs: 3_000, patienceMs: 8_000, logger: silentLogger }),
    )
  }

  async createJobs(): Promise<void> {
    const { jobs, random, from, to } = this.#options
    const all = recurringJobs(jobs, random, { from, to })
    for (const [n, client] of this.#clients.entries()) {
      const own = all.filter((_, i) => i % this.#clients.length === n)
      const { items } = await client.call('createJobs', { body: { jobs: own } })
      this.#jobIds.push(items.map(({ jobId }) => jobId!))
      await client.dags.create(innerGraph())
      // Only some tenants: the others must not notice.
      if (n >= graphTenants) continue
      const followed = [...this.#jobIds[n]!.slice(0, followedJobs)]
      const graphs = await client.call('createJobs', { body: { jobs: graphJobs({ from, to }) } })
      followed.push(...graphs.items.slice(0, 1).map(({ jobId }) => jobId!))
      await client.call('createJobs', { body: { jobs: followed.flatMap(followersOf) } })
      this.#jobIds[n]!.push(...graphs.items.map(({ jobId }) => jobId!))
    }
  }

  /** Resolves when the time is over, or after `close`, and every request has come to an end. */
  async run(): Promise<void> {
    await Promise.all([
      this.#every(submitEveryMs, (client) => this.#submit(client)),
      this.#every(1_000, (client) => this.#later(client)),
      this.#every(1_000, (client, jobId) => this.#trigger(client, jobId)),
      this.#every(changeEveryMs, (client, jobId) => this.#change(client, jobId)),
      this.#every(startRunEveryMs, (client) => this.#startRun(client)),
    ])
    await this.#signaller.idle()
  }

  get signals(): Signal[] {
    return this.#signaller.sent
  }

  async close(): Promise<void> {
    this.#ending.abort()
    await Promise.all(this.#clients.map((client) => client.close()))
  }

  /** Begins one at each turn, whether or not those before were answered. */
  async #every(ms: number, ask: (client: Client, jobId: string) => Promise<void>): Promise<void> {
    const { random, to } = this.#options
    const { signal } = this.#ending
    const under = new Set<Promise<void>>()
    while (!signal.aborted && Date.now() < to) {
      const tenant = random.whole(0, this.#clients.length - 1)
      const asked = ask(this.#clients[tenant]!, random.pick(this.#jobIds[tenant]!))
        .catch(() => void this.unanswered++)
        .finally(() => under.delete(asked))
      under.add(asked)
      await after(ms, undefined, { signal }).catch(() => {})
    }
    await Promise.all(under)
  }

  async #submit(client: Client): Promise<void> {
    const payloads = Array.from({ length: submitAtOnce }, (_, n) => ({ ms: n === 0 ? 400 : 5, failPercent: 3 }))
    const handles = await client.enqueueMany(work, payloads, { retryPolicy: { initialDelayMs: 200 } })
    for (const { executionId } of handles) this.#accepted(executionId)
  }

  async #later(client: Client): Promise<void> {
    this.#accepted((await client.enqueue(work, { ms: 5 }, { delayMs: 1_500, limits: ['shared'] })).executionId)
  }

  async #trigger(client: Client, jobId: string): Promise<void> {
    this.#accepted((await client.trigger(jobId)).executionId)
  }

  async #startRun(client: Client): Promise<void> {
    const { random } = this.#options
    const n = ++this.#runs
    const steps = drawGraph(random)
    const { runId } = await client.dagRuns.start({ name: `run ${n}`, payload: { n }, steps })
    this.#accepted(runId)
    this.#signaller.watch(client, runId, steps)
  }

  /** A new version, or a pause of some seconds. */
  async #change(client: Client, jobId: string): Promise<void> {
    const { random } = this.#options
    if (random.chance(0.5)) {
      await client.call('patchJob', { params: { jobId }, body: { payload: { ms: random.whole(2, 900) } } })
      return
    }
    await client.pause(jobId)
    await after(random.whole(500, 3_000), undefined, { signal: this.#ending.signal }).catch(() => {})
    await client.resume(jobId)
  }

  #accepted(executionId: string): void {
    this.acknowledged.push({ executionId, at: Date.now() })
  }
}
