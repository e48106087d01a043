/** Graphs of a run of chaos: some steps one after the other, some side by side, every condition; no step fails for good. */
import type { DagStep } from '@carillon/contract'
import type { Random } from '../simulate/random.ts'
import { type Work, work } from './worker-process.ts'

/** Tried until they succeed, whatever kills their workers: then each has to SUCCEED, and so has its run. */
const retryPolicy = { maxAttempts: 50, backoff: 'FIXED', initialDelayMs: 200 } as const

export function drawGraph(random: Random): DagStep[] {
  return Array.from({ length: random.whole(5, 8) }, (_, place): DagStep => {
    const count = place === 0 ? 0 : random.whole(place < 3 ? 0 : 1, 3)
    const places = new Set(Array.from({ length: count }, () => random.whole(0, place - 1)))
    const payload: Work = { ms: random.whole(2, 120), failPercent: 10 }
    return {
      name: `s${place}`,
      target: { pool: work.pool, handler: work.name },
      dependsOn: [...places].map((each) => `s${each}`),
      runIf: random.pick(['ALL_SUCCEEDED', 'ALL_SUCCEEDED', 'ALL_DONE']),
      ...{ retryPolicy, payload },
    }
  })
}
