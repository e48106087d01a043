import { expect, it } from 'vitest'
import { exposition } from './families.ts'
import { RunMetrics } from './run-metrics.ts'

const ended = (dag: string | null) => ({ dag, state: 'SUCCEEDED' as const, durationMs: 1_500 })

it('has series of the first 100 graphs; runs with steps of their own take none of them', () => {
  const metrics = new RunMetrics()
  metrics.ended([ended(null), ...Array.from({ length: 103 }, (_, at) => ended(`dag ${at}`))])
  const text = exposition(metrics.families, { whole: true })
  expect(text.match(/^carillon_dag_run_seconds_count\{/gm)!.length).toBe(102)
  for (const [dag, count] of [
    ['', 1],
    ['dag 99', 1],
    ['other', 3],
  ]) {
    expect(text).toContain(`carillon_dag_run_seconds_count{dag="${dag}"} ${count}\n`)
    expect(text).toContain(`carillon_dag_runs_ended_total{dag="${dag}",state="SUCCEEDED"} ${count}\n`)
  }
  expect(exposition(metrics.families, { whole: false })).toContain('carillon_dag_run_seconds_sum 156\n')
})
