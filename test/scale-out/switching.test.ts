/**
 * An installation under load is switched to all servers of scale-out and back, node by node, as an operator restarts them. Nothing
 * is lost, nothing runs twice, and no step delays what is due by much.
 */

import { setTimeout as after } from 'node:timers/promises'
import { type Carillon, defineHandler, type EngineSettings } from '@carillon/server'
import { afterAll, describe, expect, it } from 'vitest'
import { scaleOutNames, startScaleOut } from '../../scripts/servers/scale-out.ts'
import { type TestCarillon, testCarillon } from '../support/carillon.ts'
import { describeWith } from '../support/servers.ts'
import { until } from '../support/until.ts'

const tick = defineHandler<{ n: number }>({ name: 'tick' })
const task = defineHandler<{ n: number }>({ name: 'task' })
const jobs = 40
const submitEveryMs = 20
const times = { leaseMs: 2_000, statementTimeoutMs: 1_500, pollMs: 500 }
const latestMs = 15_000

/** What ran, and what was promised to run. */
class Load {
  readonly runs = new Map<string, number>()
  readonly accepted: string[] = []
  latestMs = 0
  /** Where to submit. */
  nodes: Carillon[] = []
  readonly #ending = new AbortController()

  prepare = (carillon: Carillon): void => {
    carillon.handle(tick, { concurrency: 20 }, ({ executionId, scheduledFor }) => {
      this.latestMs = Math.max(this.latestMs, Date.now() - scheduledFor.getTime())
      this.#ran(executionId)
    })
    carillon.handle(task, { concurrency: 20 }, ({ executionId }) => this.#ran(executionId))
  }

  /** Resolves after `end`. */
  async submit(): Promise<void> {
    for (let n = 0; !this.#ending.signal.aborted; n++) {
      const node = this.nodes[n % this.nodes.length]!
      this.accepted.push((await node.enqueue(task, { n })).executionId)
      await after(submitEveryMs)
    }
  }

  end(): void {
    this.#ending.abort()
  }

  /** Until so many more have run: of the jobs alone, that takes some seconds. */
  async more(count = 4 * jobs): Promise<void> {
    const wanted = this.runs.size + count
    await until(() => this.runs.size >= wanted, 60_000)
  }

  #ran(executionId: string): void {
    this.runs.set(executionId, (this.runs.get(executionId) ?? 0) + 1)
  }
}

await describeWith(
  'the servers of scale-out',
  () => startScaleOut(),
  (servers) => {
    afterAll(() => servers[Symbol.asyncDispose]())

    /** Restarts one node with other settings, while the other goes on. */
    async function restart(installation: TestCarillon, load: Load, n: number, settings: EngineSettings): Promise<void> {
      const old = load.nodes[n]!
      const [other] = load.nodes.filter((node) => node !== old)
      load.nodes = [other!]
      await load.more()
      await old.stop({ drainSec: 5 })
      await load.more()
      const node = await installation.another({ ...times, ...settings })
      load.prepare(node)
      await node.start()
      load.nodes = n === 0 ? [node, other!] : [other!, node]
      await load.more()
    }

    describe(`switching to ${scaleOutNames.join(', ')} and back`, () => {
      it('under load loses nothing and runs nothing twice', { timeout: 300_000 }, async () => {
        const load = new Load()
        await using installation = await testCarillon(load.prepare, times)
        const second = await installation.another()
        load.prepare(second)
        await second.start()
        load.nodes = [installation.carillon, second]
        const from = new Date().toISOString()
        const made = []
        for (let n = 0; n < jobs; n++)
          made.push(await installation.carillon.schedule(tick, { n }, { cron: '* * * * * *' }))
        const submitting = load.submit()
        await load.more()
        for (const settings of [servers.settings, {}])
          for (const n of [0, 1]) await restart(installation, load, n, settings)
        load.end()
        await submitting
        const [node] = load.nodes as [Carillon]
        for (const { jobId } of made) await node.unschedule(jobId)
        await until(() => load.accepted.every((id) => load.runs.has(id)))
        await until(async () => (await node.verify({ from })).stuck === 0, 30_000)
        const { missed, doubled, wrong, lost, checked } = await node.verify({ from })
        const found = { missed, doubled, wrong, lost: lost.submissions }
        expect(found).toEqual({ missed: 0, doubled: 0, wrong: 0, lost: 0 })
        expect(checked.occurrences).toBeGreaterThan(10 * jobs)
        expect(load.accepted.length).toBeGreaterThan(200)
        expect([...load.runs].filter(([, count]) => count !== 1)).toEqual([])
        expect(load.latestMs).toBeLessThan(latestMs)
      })
    })
  },
)
