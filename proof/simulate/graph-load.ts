/** What the clients of the world ask of graphs: runs of stored ones and of steps of their own, signalled, cancelled, paused, resumed, retried. */
import { hash } from 'node:crypto'
import { startInlineRun, startRun } from '../../packages/server/src/dags/start-run.ts'
import { inOrder } from '../../packages/server/src/domain/dag/graph.ts'
import { stepId } from '../../packages/server/src/domain/identity.ts'
import type { Engine } from '../../packages/server/src/main.ts'
import { AnsweredBefore, readAnswer } from '../../packages/server/src/store/idempotency/answers.ts'
import type { Signal } from '../history.ts'
import { type Client, unlessRefused } from './client.ts'
import { drawInnerSteps, drawSteps, innerKeys } from './graphs.ts'
import { tenants } from './jobs.ts'
import type { Random } from './random.ts'
import { drawResult } from './results.ts'
import { Signalling } from './signalling.ts'
import type { World } from './world.ts'

const actor = 'client'
/** Older ones are left alone. */
const mostRuns = 12

interface KnownRun {
  runId: string
  tenant: string
  stepCount: number
}

export interface GraphLoadOptions {
  client: Client
  world: World
  random: Random
  /** Called with runs that were answered. */
  acknowledge: (runId: string) => void
}

export class GraphLoad {
  readonly #options: GraphLoadOptions
  readonly #signalling: Signalling
  readonly #runs: KnownRun[] = []
  readonly #paused = new Map<string, KnownRun>()
  #started = 0

  constructor(options: GraphLoadOptions) {
    this.#options = options
    this.#signalling = new Signalling({ ...options, random: options.random.fork('signals') })
  }

  get signals(): Signal[] {
    return this.#signalling.sent
  }

  close(): void {
    this.#signalling.close()
  }

  /** What steps and jobs run must be there before. */
  async prepare(): Promise<void> {
    for (const tenant of tenants) for (const key of innerKeys) await this.#define(tenant, key)
  }

  /** Gives a graph that others run other steps. */
  async redefine(): Promise<void> {
    const { client, random } = this.#options
    await client.attempt('redefine graph', () => this.#define(random.pick(tenants), random.pick(innerKeys)))
  }

  async #define(tenant: string, key: (typeof innerKeys)[number]): Promise<void> {
    const { client, random } = this.#options
    const steps = drawInnerSteps(random, key)
    await client.untilAnswered('define graph', ({ dags }) => dags.put(tenant, { key, steps }, { actor }))
  }

  async start(): Promise<void> {
    const { client, random, acknowledge } = this.#options
    const tenant = random.pick(tenants)
    const name = `run ${++this.#started}`
    const steps = drawSteps(random)
    const input = {
      payload: { of: name, ...drawResult(random, name) },
      ...(random.chance(0.2) && { deadlineSec: random.whole(2, 25) }),
    }
    const request = { tenant, route: 'POST /v1/dag-runs', key: name, hash: hash('sha256', name, 'hex') }
    const once = { key: request, answer: ({ runId }: { runId: string }) => runId }
    const isStored = random.chance(0.4)
    const key = `graph ${random.whole(1, 3)}`
    const start = async (engine: Engine) => {
      if (!isStored) return startInlineRun(engine, { tenant, actor }, { ...input, name, steps }, once)
      // Another definition each time: runs that are on their way keep theirs.
      await engine.dags.put(tenant, { key, steps }, { actor })
      return startRun(engine, { tenant, actor }, key, { ...input, labels: { name } }, once)
    }
    await client.attempt('start run', async () => {
      const runId = await client.untilAnswered('start run', async (engine) => {
        try {
          return (await start(engine)).runId
        } catch (error) {
          if (!(error instanceof AnsweredBefore)) throw error
          return (await readAnswer(engine.database, request))!.answer
        }
      })
      acknowledge(runId)
      this.#runs.push({ runId, tenant, stepCount: steps.length })
      if (this.#runs.length > mostRuns) this.#runs.shift()
      for (const [number, { step }] of inOrder(steps).entries()) {
        if (step.waitFor !== undefined) void this.#signalling.watch({ tenant, runId, step: step.name, number })
      }
    })
  }

  async interfere(): Promise<void> {
    const { client, random } = this.#options
    if (this.#runs.length === 0) return
    const what = random.pick(interferences)
    // Only one that has ended can be retried; the latest have probably not.
    const run = random.pick(what === 'retry' ? this.#runs : this.#runs.slice(-2))
    const { tenant, runId } = run
    await client.attempt(`${what} run`, async () => {
      switch (what) {
        case 'cancel':
          await client.ask('cancel run', ({ dagRuns }) => dagRuns.cancel(tenant, runId, actor))
          return
        case 'pause':
          // Noted before it is asked: it may be done though nobody answers.
          this.#paused.set(runId, run)
          await client.ask('pause run', ({ dagRuns }) => dagRuns.pause(tenant, runId, actor))
          return
        case 'resume':
          await client.ask('resume run', ({ dagRuns }) => dagRuns.resume(tenant, runId, actor))
          return
        case 'retry':
          await client.ask('retry run', ({ dagRuns }) => dagRuns.retry(tenant, runId, actor))
          return
        case 'cancel a step of a': {
          const step = stepId(runId, random.whole(0, run.stepCount - 1))
          await client.ask('cancel step', ({ executions }) =>
            executions.cancel(tenant, step, { reason: 'ASKED', actor }),
          )
        }
      }
    })
  }

  async resumeAll(): Promise<void> {
    const { client } = this.#options
    await Promise.all(
      [...this.#paused.values()].map(({ tenant, runId }) =>
        client.untilAnswered('resume run', ({ dagRuns }) => dagRuns.resume(tenant, runId, actor).catch(unlessRefused)),
      ),
    )
  }
}

const interferences = [
  ...(['cancel', 'pause', 'resume', 'resume', 'retry', 'retry', 'retry', 'retry'] as const),
  ...(['cancel a step of a', 'cancel a step of a'] as const),
]
