/**
 * Graphs of a run of chaos: some steps one after the other, some side by side, every condition; steps over the items of a list, steps
 * that run another graph, steps that are signalled. No step fails for good.
 */
import type { DagInput, DagStep, WireJobInput } from '@carillon/contract'
import type { Random } from '../simulate/random.ts'
import { type Work, work } from './worker-process.ts'

/** Tried until they succeed, whatever kills their workers: then each has to SUCCEED, and so has its run. */
const retryPolicy = { maxAttempts: 50, backoff: 'FIXED', initialDelayMs: 200 } as const
const target = { pool: work.pool, handler: work.name }
const all = { runIf: 'ALL_SUCCEEDED' } as const

/** What steps and jobs run. */
export const innerKey = 'inner'

export function innerGraph(): DagInput {
  return {
    key: innerKey,
    steps: [
      { name: 'first', target, retryPolicy, payload: { ms: 20, failPercent: 10 } },
      { name: 'each', dependsOn: ['first'], forEach: 'results.first.items', concurrency: 2, target, retryPolicy },
      { name: 'last', dependsOn: ['each'], target, retryPolicy, payload: { ms: 5 } },
    ],
  }
}

export function drawGraph(random: Random): DagStep[] {
  const worked: string[] = []
  return Array.from({ length: random.whole(5, 8) }, (_, place): DagStep => {
    const count = place === 0 ? 0 : random.whole(place < 3 ? 0 : 1, 3)
    const places = new Set(Array.from({ length: count }, () => random.whole(0, place - 1)))
    const dependsOn = [...places].map((each) => `s${each}`)
    const name = `s${place}`
    // Only what a worker has run has returned a number and a list.
    const from = dependsOn.find((each) => worked.includes(each))
    const lot = random.whole(1, 100)
    if (lot <= 15 && from !== undefined) {
      const slots = random.chance(0.7) ? { concurrency: random.whole(1, 3) } : {}
      return { name, dependsOn, ...all, forEach: `results.${from}.items`, ...slots, target, retryPolicy }
    }
    if (lot > 15 && lot <= 22) return { name, dependsOn, ...all, target: { dag: innerKey }, retryPolicy }
    if (lot > 22 && lot <= 29) return { name, dependsOn, waitFor: 'SIGNAL' }
    if (lot > 29 && lot <= 39 && from !== undefined) {
      const when = `results.${from}.n > ${random.whole(0, 9)}`
      return { name, dependsOn, ...all, when, target, retryPolicy, payload: drawWork(random) }
    }
    worked.push(name)
    const runIf = random.pick(['ALL_SUCCEEDED', 'ALL_SUCCEEDED', 'ALL_DONE'] as const)
    return { name, dependsOn, runIf, target, retryPolicy, payload: drawWork(random) }
  })
}

function drawWork(random: Random): Work {
  return { ms: random.whole(2, 120), failPercent: 10 }
}

/** Each of their executions lasts as long as a run. */
export function graphJobs({ from, to }: { from: number; to: number }): WireJobInput[] {
  return (['FORBID', 'QUEUE_ONE', 'REPLACE', 'ALLOW'] as const).map((overlap) => ({
    ...{ type: 'CRON', schedule: '*/3 * * * * *', overlap, retryPolicy },
    name: `graph ${overlap}`,
    target: { dag: innerKey },
    startAt: new Date(from).toISOString(),
    endAt: new Date(to).toISOString(),
  }))
}

/** They run after executions of that job. */
export function followersOf(jobId: string): WireJobInput[] {
  return (['SUCCEEDED', 'FAILED', 'ENDED'] as const).map((on) => ({
    ...{ type: 'AFTER', after: { job: jobId, on }, name: `after ${on}` },
    ...{ target, retryPolicy: { ...retryPolicy, maxAttempts: 3 }, overlap: on === 'ENDED' ? 'QUEUE_ONE' : 'ALLOW' },
  }))
}
