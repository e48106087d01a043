/**
 * What operators look at, beside what it costs and how it feels: how soon questions of the views are answered and how smoothly the list of jobs
 * scrolls, with 100,000 jobs and a million executions of one tenant; what an open page costs an execution. The last two need
 * Chromium (scripts/install-browser).
 */
import { measureAnswers } from '../dashboard/answers.ts'
import { measureCost } from '../dashboard/cost.ts'
import { layWork } from '../dashboard/one-tenant.ts'
import { measureScroll } from '../dashboard/scroll.ts'
import type { Bench, Result, Scenario } from '../scenario.ts'

const parts = ['answers', 'scroll', 'cost'] as const
type Part = (typeof parts)[number]

export const scenario: Scenario = {
  name: 'dashboard',
  summary:
    'what the views ask, with 100,000 jobs and a million executions of one tenant; scrolling; what an open page costs',
  limitMinutes: 30,
  quickLimitMinutes: 5,
  parts,
  async run(bench) {
    const wants = (part: Part) => bench.part === null || bench.part === part
    const results: Result[] = []
    if (wants('answers') || wants('scroll')) results.push(...(await withOneTenant(bench, wants)))
    if (wants('cost')) results.push(...(await measureCost(bench)))
    return results
  },
}

async function withOneTenant(bench: Bench, wants: (part: Part) => boolean): Promise<Result[]> {
  await using installation = await bench.ground.installation({ nodes: 0 })
  const tenant = installation.tenants[0]!
  await layWork(bench, installation, tenant)
  await installation.startNode()
  await using _workers = await installation.startWorkers(1)
  return [
    ...(wants('answers') ? await measureAnswers(bench, installation, tenant) : []),
    ...(wants('scroll') ? await measureScroll(bench, installation, tenant) : []),
  ]
}
