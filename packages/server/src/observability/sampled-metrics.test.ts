import { expect, test } from 'vitest'
import { exposition } from './families.ts'
import { type InstallationSample, SampledMetrics } from './sampled-metrics.ts'

const sample: InstallationSample = {
  depths: [
    { where: 'ready', pool: 'p', lane: 0, count: 3, oldestMs: 2_000 },
    { where: 'ready', pool: 'acme\u001fp', lane: 2, count: 4, oldestMs: 5_000 },
  ],
  runs: { runs: [{ state: 'paused', count: 2 }], steps: [{ where: 'queued', count: 5 }], oldestMs: 3_000 },
  overdue: 1,
  quarantined: { ready: 2 },
  subscriptions: [],
  verified: null,
}

function sampled() {
  let now = 0
  const metrics = new SampledMetrics({ monotonic: () => now })
  const text = (whole = true) => {
    metrics.prune()
    return exposition(metrics.families, { whole })
  }
  return { metrics, text, pass: (ms: number) => (now += ms) }
}

test('a sample is shown by pool and lane, and in places where nothing is', () => {
  const { metrics, text } = sampled()
  metrics.sampled(sample)
  expect(text()).toContain('carillon_executions{where="ready",tenant="",pool="p",lane="CRITICAL"} 3\n')
  expect(text()).toContain('carillon_executions{where="ready",tenant="acme",pool="p",lane="NORMAL"} 4\n')
  expect(text()).toContain('carillon_executions{where="running",tenant="",pool="",lane=""} 0\n')
  expect(text()).toContain('carillon_dag_runs{state="running"} 0\ncarillon_dag_runs{state="paused"} 2\n')
  expect(text()).toContain('carillon_dag_steps{where="queued"} 5\n')
  expect(text()).toContain('carillon_oldest_dag_run_seconds 3\n')
  expect(text(false)).toContain('carillon_oldest_execution_seconds{where="ready",lane="NORMAL"} 5\n')
})

test('one that is not renewed is dropped, and one that another node reads at once', () => {
  const { metrics, text, pass } = sampled()
  metrics.sampled(sample)
  metrics.leaderless(0)
  pass(59_000)
  expect(text()).toContain('carillon_overdue_jobs 1\n')
  pass(2_000)
  expect(text()).toBe('')
  metrics.sampled(sample)
  metrics.sampled(null)
  expect(text()).toBe('')
})
