/**
 * The clients of the world: they create jobs and change them in every way there is, submit work, cancel it and bring it
 * back, through any node. What they were answered they write down; what they were not they ask again, with the same
 * Idempotency-Key.
 */
import { hash } from 'node:crypto'
import type { JobInput } from '@carillon/contract'
import { AnsweredBefore, readAnswer } from '../../packages/server/src/store/idempotency/answers.ts'
import type { Acknowledged, Signal } from '../history.ts'
import { Client, unlessRefused } from './client.ts'
import { GraphLoad } from './graph-load.ts'
import { innerKeys } from './graphs.ts'
import { drawFollower, drawGraphJob, drawJob, drawPolicy, tenants } from './jobs.ts'
import { declareLimits } from './limits.ts'
import type { Network } from './network.ts'
import type { SimulatedNode } from './node.ts'
import type { Owner } from './owner.ts'
import type { Random } from './random.ts'
import type { StartTime } from './start-times.ts'
import { handlerName } from './worker.ts'
import type { World } from './world.ts'

const actor = 'client'

interface KnownJob {
  jobId: string
  tenant: string
  input: JobInput
  key: string | undefined
}

interface KnownExecution {
  executionId: string
  tenant: string
}

export interface LoadOptions {
  world: World
  network: Network
  nodes: readonly SimulatedNode[]
  random: Random
  start: StartTime
  /** Told of an answer that no client should ever get. */
  onDefect: (problem: string) => void
}

export class Load {
  readonly acknowledged: Acknowledged[] = []
  readonly #options: LoadOptions
  readonly #jobs: KnownJob[] = []
  readonly #executions: KnownExecution[] = []
  readonly #owner: Owner
  readonly #client: Client
  readonly #graphs: GraphLoad
  #submissions = 0
  #closed = false

  constructor(options: LoadOptions) {
    const { world, random } = options
    this.#options = options
    this.#owner = world.spawn('client')
    this.#client = new Client(options)
    const acknowledge = (runId: string) => void this.acknowledged.push({ executionId: runId, at: world.now })
    this.#graphs = new GraphLoad({ client: this.#client, world, random: random.fork('graphs'), acknowledge })
  }

  /** How often each thing was asked for and done. */
  get done(): Record<string, number> {
    return this.#client.done
  }

  get signals(): Signal[] {
    return this.#graphs.signals
  }

  /** Goes on until `close`. */
  begin(): void {
    this.#options.world.as(this.#owner, () => void this.#begin())
  }

  async #begin(): Promise<void> {
    const { random } = this.#options
    await declareLimits(this.#client)
    await this.#graphs.prepare()
    for (let i = random.whole(5, 9); i > 0; i--) void this.#client.attempt('create', () => this.#create())
    for (let i = random.whole(2, 4); i > 0; i--) void this.#client.attempt('follow', () => this.#follow())
    void this.#repeat([300, 1_500], () => this.#submit())
    void this.#repeat([500, 3_000], () => this.#interfere())
    void this.#repeat([1_000, 5_000], () => this.#graphs.start())
    void this.#repeat([500, 2_500], () => this.#graphs.interfere())
    void this.#repeat([5_000, 20_000], () => this.#graphs.redefine())
  }

  close(): void {
    this.#closed = true
    this.#graphs.close()
  }

  /** Nothing fires any more, and no run of a graph is paused. */
  async pauseAll(jobs: { jobId: string; tenant: string }[]): Promise<void> {
    await this.#options.world.as(this.#owner, () =>
      Promise.all([
        ...jobs.map(({ jobId, tenant }) =>
          this.#client.untilAnswered('pause', ({ jobs }) => jobs.pause(tenant, jobId, { actor }).catch(unlessRefused)),
        ),
        this.#graphs.resumeAll(),
      ]),
    )
  }

  async #repeat([low, high]: [number, number], work: () => Promise<void>): Promise<void> {
    const { world, random } = this.#options
    for (;;) {
      await world.sleep(random.whole(low, high))
      if (this.#closed) return
      // Clients do not wait for each other.
      void work()
    }
  }

  async #create(): Promise<void> {
    const { random } = this.#options
    const tenant = random.pick(tenants)
    const key = random.chance(0.5) ? `key ${random.whole(1, 6)}` : undefined
    const input = { ...this.#draw(), ...(key !== undefined && { key }) }
    const put = await this.#client.ask('create', ({ jobs }) => jobs.put(tenant, input, null, { actor }))
    this.#jobs.push({ jobId: put.job.definition.jobId, tenant, input, key })
  }

  #draw(): JobInput {
    const { random, start } = this.#options
    return random.chance(0.15) ? drawGraphJob(random, start, random.pick(innerKeys)) : drawJob(random, start)
  }

  /** Nobody changes these. */
  async #follow(): Promise<void> {
    const { world, random } = this.#options
    await world.sleep(random.whole(2_000, 6_000))
    if (this.#jobs.length === 0) return
    const { jobId, tenant } = random.pick(this.#jobs)
    const input = drawFollower(random, jobId)
    await this.#client.ask('follow', ({ jobs }) => jobs.put(tenant, input, null, { actor }))
  }

  async #submit(): Promise<void> {
    const { random } = this.#options
    const tenant = random.pick(tenants)
    const name = `submission ${++this.#submissions}`
    const later = random.chance(0.25)
    const input: JobInput = {
      ...drawPolicy(random),
      ...(later ? { type: 'DELAYED', delayMs: random.whole(100, 8_000) } : { type: 'ONE_SHOT' }),
      ...(!later && random.chance(0.3) && { dedupe: drawDedupe(random) }),
      ...{ name, target: { handler: handlerName } },
    }
    const request = { tenant, route: 'POST /v1/jobs', key: name, hash: sha256(name) }
    await this.#client.attempt('submit', async () => {
      const executionId = await this.#client.untilAnswered('submit', async ({ submissions, database }) => {
        try {
          const once = { key: request, answer: (made: Awaited<ReturnType<typeof submissions.create>>) => idOf(made) }
          return idOf(await submissions.create({ tenant, actor }, input, null, once))
        } catch (error) {
          if (!(error instanceof AnsweredBefore)) throw error
          return (await readAnswer(database, request))!.answer
        }
      })
      // One that is still to come may be taken back: then it is not in the ledger, and should not be.
      this.#acknowledge(executionId, tenant, { mayBeCancelled: !later })
    })
  }

  async #interfere(): Promise<void> {
    const { random } = this.#options
    const job = this.#jobs.length > 0 ? random.pick(this.#jobs) : null
    const execution = this.#executions.length > 0 ? random.pick(this.#executions) : null
    const what = random.pick(interferences)
    await this.#client.attempt(what, async () => {
      if (what === 'create') await this.#create()
      else if (what === 'cancel' || what === 'replay') {
        if (execution) await this.#handle(what, execution)
      } else if (job) await this.#change(what, job)
    })
  }

  async #handle(what: 'cancel' | 'replay', { executionId, tenant }: KnownExecution): Promise<void> {
    await this.#client.ask(what, ({ executions }): Promise<unknown> => {
      if (what === 'replay') return executions.replay(tenant, executionId, actor)
      return executions.cancel(tenant, executionId, { reason: 'ASKED', actor })
    })
  }

  async #change(what: Exclude<Interference, 'create' | 'cancel' | 'replay'>, job: KnownJob): Promise<void> {
    const { world, random } = this.#options
    const { jobId, tenant, key } = job
    switch (what) {
      case 'edit': {
        const other = random.pick(this.#jobs)
        const follows = other.tenant === tenant && random.chance(0.15)
        const drawn = follows ? drawFollower(random, other.jobId) : this.#draw()
        const input = { ...drawn, ...(key !== undefined && { key }) }
        await this.#client.ask(what, ({ jobs }) =>
          jobs.update(tenant, jobId, () => ({ input, payload: null }), { actor }),
        )
        job.input = input
        return
      }
      case 'pause':
        await this.#client.ask(what, ({ jobs }) => jobs.pause(tenant, jobId, { actor }))
        return
      case 'resume':
        await this.#client.ask(what, ({ jobs }) => jobs.resume(tenant, jobId, { actor }))
        return
      case 'delete': {
        const cancelRunning = random.chance(0.5)
        await this.#client.ask(what, ({ jobs }) => jobs.remove(tenant, jobId, { actor, cancelRunning }))
        return
      }
      case 'trigger': {
        const asked = { payload: null, traceparent: null, actor }
        // Often in the moment in which it fires anyway, and then one that must not overlap with itself.
        const guarded = this.#jobs.filter(({ input }) => input.overlap !== 'ALLOW' && secondsOf(input) !== null)
        const meets = guarded.length > 0 && random.chance(0.7)
        const { jobId: id, tenant: whose, input } = meets ? random.pick(guarded) : job
        if (meets) await world.sleep(untilNext(secondsOf(input)!, world.now) - random.whole(8, 25))
        const { execution } = await this.#client.ask(what, ({ jobs }) => jobs.trigger(whose, id, asked))
        this.#acknowledge(execution.executionId, whose, { mayBeCancelled: true })
        return
      }
      case 'backfill': {
        const to = world.now - random.whole(1_000, 10_000)
        const range = { from: new Date(to - random.whole(2_000, 40_000)).toISOString(), to: new Date(to).toISOString() }
        const request = { jobId, ...range, includeSkipped: random.chance(0.7), concurrency: random.whole(1, 3) }
        await this.#client.ask(what, async ({ operations }) => {
          const { begin } = await operations.backfill({ tenant, actor }, request)
          await begin({})
        })
      }
    }
  }

  #acknowledge(executionId: string, tenant: string, { mayBeCancelled }: { mayBeCancelled: boolean }): void {
    this.acknowledged.push({ executionId, at: this.#options.world.now })
    if (mayBeCancelled) this.#executions.push({ executionId, tenant })
    if (this.#executions.length > 40) this.#executions.shift()
  }
}

const interferences = [
  ...(['edit', 'edit', 'pause', 'resume', 'resume', 'trigger', 'trigger', 'trigger'] as const),
  ...(['cancel', 'cancel', 'replay', 'replay', 'backfill', 'delete', 'create'] as const),
]
type Interference = (typeof interferences)[number]

function drawDedupe(random: Random): NonNullable<JobInput['dedupe']> {
  return {
    key: `dedupe ${random.whole(1, 3)}`,
    while: random.pick(['PENDING', 'UNFINISHED']),
    ...(random.chance(0.3) && { windowSec: random.whole(1, 5) }),
  }
}

/** Of a cron that fires every so many seconds of a minute, without jitter: how many. */
function secondsOf({ schedule, jitterSec }: JobInput): number | null {
  const every = schedule?.match(/^\*\/(\d+) /)?.[1]
  return every === undefined || jitterSec !== undefined ? null : Number(every)
}

/** Milliseconds until such a cron fires; more than a second ahead. */
function untilNext(everySec: number, now: number): number {
  let at = Math.floor(now / 1_000) + 2
  while ((at % 60) % everySec !== 0) at++
  return at * 1_000 - now
}

const sha256 = (text: string) => hash('sha256', text, 'hex')

function idOf({ job, dedupe }: { job: { definition: { jobId: string } }; dedupe?: { executionId: string } }): string {
  return dedupe?.executionId ?? job.definition.jobId
}
