/** What the views ask, one request at a time. A request is timed from its first byte out to its last byte in. */
import type { Installation } from '../ground/ground.ts'
import { quantiles } from '../measure/quantiles.ts'
import { type Bench, judged, type Result } from '../scenario.ts'

const hour = 3_600_000
const targetMs = 200

export async function measureAnswers(bench: Bench, installation: Installation, tenant: string): Promise<Result[]> {
  const ask = asker(installation, tenant)
  const results: Result[] = []
  for (const [view, paths] of Object.entries(await questions(installation, ask))) {
    for (const path of paths) {
      const times = await timed(bench.size(60, 10), () => ask(path))
      const [p50, p95] = quantiles(times, [0.5, 0.95]) as [number, number]
      bench.progress(`${view} ${path.split('?')[0]}: p95 ${p95.toFixed(1)} ms`)
      results.push(
        judged({
          ...{ name: `dashboard ${view} ${path.split('?')[0]}`, unit: 'ms (p95)', target: targetMs, better: 'lower' },
          value: Math.round(p95 * 10) / 10,
          detail: { 'p50 ms': Math.round(p50 * 10) / 10, 'longest ms': Math.round(Math.max(...times)), path },
        }),
      )
    }
  }
  return results
}

type Ask = <Answer>(path: string) => Promise<Answer>

/** By view, as its components ask. */
async function questions(installation: Installation, ask: Ask): Promise<Record<string, string[]>> {
  const now = await installation.now()
  const at = (ms: number) => new Date(Math.floor(ms / hour) * hour).toISOString()
  const [execution] = (await ask<{ items: { executionId: string }[] }>('/v1/executions?limit=1')).items
  const [job] = (await ask<{ items: { jobId: string }[] }>('/v1/jobs?limit=1')).items
  const week = at(now - 7 * 24 * hour)
  return {
    now: [
      '/v1/load',
      '/v1/nodes',
      `/v1/stats?step=MINUTE&from=${at(now - hour)}`,
      '/v1/executions?state=RUNNING&limit=8&from=1970-01-01T00:00:00Z',
      `/v1/failures?from=${week}`,
    ],
    ahead: [
      `/v1/forecast?step=MINUTE&from=${at(now)}&to=${at(now + 24 * hour)}`,
      `/v1/forecast?step=HOUR&from=${at(now)}&to=${at(now + 30 * 24 * hour)}`,
    ],
    jobs: ['/v1/jobs?limit=50', '/v1/jobs?limit=50&search=99991', '/v1/jobs?limit=50&search=no-such-job'],
    job: [`/v1/jobs/${job!.jobId}`, `/v1/jobs/${job!.jobId}/next`, `/v1/jobs/${job!.jobId}/executions?limit=60`],
    executions: [
      '/v1/executions?limit=50',
      '/v1/executions?limit=50&state=RUNNING',
      '/v1/executions?limit=50&state=PENDING',
      '/v1/executions?limit=50&state=FAILED',
      `/v1/executions?limit=50&state=DEAD&from=${at(now - 30 * 24 * hour)}`,
      '/v1/executions?limit=50&handler=no-such-handler',
    ],
    execution: [`/v1/executions/${execution!.executionId}`, `/v1/executions/${execution!.executionId}/logs`],
    'dead-letters': ['/v1/dead-letters/groups', '/v1/dead-letters?limit=50&error=Error3'],
    workers: ['/v1/workers?limit=50'],
    proof: ['/v1/verified'],
    audit: ['/v1/audit?limit=50'],
    tokens: ['/v1/tokens'],
  }
}

function asker(installation: Installation, tenant: string): Ask {
  const headers = { authorization: `Bearer ${installation.adminToken}`, 'carillon-tenant': tenant }
  return async <Answer>(path: string) => {
    const response = await fetch(installation.urls[0] + path, { headers })
    const text = await response.text()
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${text}`)
    return JSON.parse(text) as Answer
  }
}

/** After one request that fills caches, as for a second person who opens the view. */
async function timed(count: number, work: () => Promise<unknown>): Promise<number[]> {
  await work()
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const from = performance.now()
    await work()
    times.push(performance.now() - from)
  }
  return times
}
