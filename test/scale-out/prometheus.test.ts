/** Prometheus itself reads a node that has done work, promtool finds nothing to complain about, and the rules that ship can be evaluated. */
import { spawnSync } from 'node:child_process'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createWorker, defineHandler, implementHandler, type Worker } from '@carillon/sdk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RunningServer } from '../../scripts/servers/process.ts'
import { startPrometheus } from '../../scripts/servers/prometheus.ts'
import { quickTimes } from '../support/carillon.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { describeWith } from '../support/servers.ts'
import { until } from '../support/until.ts'

let node: HttpNode
let worker: Worker

const start = async () => {
  node = await httpNode({ engine: quickTimes, metricsPort: 0 })
  return startPrometheus({ host: new URL(node.node.metricsUrl!).host }).catch(async (error: unknown) => {
    await node[Symbol.asyncDispose]()
    throw error
  })
}

function promtool(args: string[], input?: string): { status: number | null; said: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  if (error) throw error
  return { status, said: stdout + stderr }
}

await describeWith<RunningServer>('prometheus', start, (prometheus) => {
  interface Sample {
    metric: Record<string, string>
    value: [number, string]
  }

  async function ask(path: string): Promise<unknown> {
    const { status, data } = (await (await fetch(prometheus.url + path)).json()) as { status: string; data: unknown }
    if (status !== 'success') throw new Error(JSON.stringify(data))
    return data
  }

  async function query(expression: string): Promise<Sample[]> {
    return ((await ask(`/api/v1/query?query=${encodeURIComponent(expression)}`)) as { result: Sample[] }).result
  }

  const work = defineHandler<unknown>({ name: 'work', pool: 'scraped' })
  const fail = defineHandler<unknown>({ name: 'fail', pool: 'scraped' })

  beforeAll(async () => {
    worker = createWorker({
      urls: [node.url],
      handlers: [
        implementHandler(work, async () => {}, { concurrency: 5 }),
        implementHandler(fail, async () => Promise.reject(new Error('no')), { concurrency: 5 }),
      ],
    })
    await worker.start()
    const submit = (handler: string, more: object = {}) =>
      node.ask('POST /v1/jobs', { type: 'ONE_SHOT', target: { pool: 'scraped', handler }, ...more })
    await submit('fail', { retryPolicy: { maxAttempts: 1 } })
    for (let i = 0; i < 20; i++) await submit('work')
    const tick = { name: 'tick', type: 'INTERVAL', interval: 'PT1S', target: { pool: 'scraped', handler: 'work' } }
    await node.ask('POST /v1/jobs', tick)
  })
  afterAll(async () => {
    await worker?.stop({ drainSec: 1 })
    await prometheus.stop()
    await node[Symbol.asyncDispose]()
  })

  it('scrapes a node, and answers questions about its work', { timeout: 60_000 }, async () => {
    await until(async () => (await query('up{job="carillon"} == 1')).length === 1, 30_000)
    const of = (sample?: Sample) => Number(sample?.value[1])
    await until(
      async () => of((await query('carillon_attempts_total{handler="work",outcome="SUCCEEDED"}'))[0]) > 20,
      30_000,
    )
    expect(of((await query('sum(carillon_dead_letters_total)'))[0])).toBe(1)
    await until(async () => (await query('carillon_executions{where="ready"}')).length > 0)
    expect((await query('carillon_fires_on_time_total')).length).toBe(1)
  })

  it('evaluates every rule that ships without an error', { timeout: 60_000 }, async () => {
    interface Rule {
      name: string
      health: string
      lastError?: string
    }
    const rules = async () => {
      const { groups } = (await ask('/api/v1/rules')) as { groups: { rules: Rule[] }[] }
      return groups.flatMap((group) => group.rules)
    }
    await until(async () => (await rules()).every(({ health }) => health !== 'unknown'), 30_000)
    const all = await rules()
    expect(all.length).toBeGreaterThan(10)
    expect(all.filter(({ health }) => health !== 'ok')).toEqual([])
  })

  it('promtool finds nothing to complain about, with and without names', async () => {
    const whole = await (await fetch(`${node.node.metricsUrl}/metrics`)).text()
    expect(whole).toContain('handler="work"')
    expect(promtool(['check', 'metrics'], whole)).toEqual({ status: 0, said: '' })
    const { Metrics } = await import('../../packages/server/src/observability/metrics.ts')
    expect(promtool(['check', 'metrics'], await new Metrics().text({ whole: false }))).toEqual({ status: 0, said: '' })
  })

  it('the rules tell runs that stand still or advance slowly from those that go on', async () => {
    const steps = (released: string, ready: string, { soon = ready, all = ready } = {}) => [
      { series: 'carillon_dag_steps{where="released"}', values: `${released}x60` },
      { series: 'carillon_dag_steps_released_total', values: `${ready}x60` },
      { series: 'carillon_dag_advance_seconds_bucket{le="5"}', values: `${soon}x60` },
      ...['10', '+Inf'].map((le) => ({
        series: `carillon_dag_advance_seconds_bucket{le="${le}"}`,
        values: `${all}x60`,
      })),
    ]
    const after = (input: ReturnType<typeof steps>, alerts: string[]) => ({
      interval: '15s',
      input_series: input,
      promql_expr_test: [
        {
          ...{ expr: 'count by (alertname) (ALERTS{alertstate="firing"})', eval_time: '12m' },
          exp_samples: alerts.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
        },
      ],
    })
    const tests = [
      after(steps('7+0', '0+5'), []),
      after(steps('0+0', '3+0'), []),
      after(steps('7+0', '3+0'), ['CarillonRunsStandStill']),
      after(steps('7+0', '0+5', { soon: '0+1' }), ['CarillonRunsAdvanceSlowly']),
    ]
    await using folder = await mkdtempDisposable(join(tmpdir(), 'carillon-rules-'))
    const file = join(folder.path, 'tests.json')
    const rules = fileURLToPath(new URL('../../deploy/prometheus/rules.yml', import.meta.url))
    await writeFile(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '15s', tests }))
    expect(promtool(['test', 'rules', file])).toMatchObject({ status: 0, said: expect.stringContaining('SUCCESS') })
  })

  it.each(['check rules rules.yml', 'check config prometheus.yml'])('promtool %s passes', (command) => {
    const [check, what, file] = command.split(' ') as [string, string, string]
    const path = fileURLToPath(new URL(`../../deploy/prometheus/${file}`, import.meta.url))
    expect(promtool([check, what, path])).toMatchObject({ status: 0, said: expect.stringContaining('SUCCESS') })
  })
})
