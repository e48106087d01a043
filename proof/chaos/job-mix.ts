/**
 * The recurring jobs of a run: every overlap and misfire policy, both deliveries, some that fail, some that do not listen, some with limits.
 */
import type { WireJobInput } from '@carillon/contract'
import type { Random } from '../simulate/random.ts'
import { type Work, work } from './worker-process.ts'

/** Of each tenant, and of the installation. A history is judged by them: they do not change. */
export const limitsOf = (tenants: readonly string[]) => [
  ...tenants.map((owner) => ({ owner, name: 'acct', concurrency: 2 })),
  { owner: null, name: 'shared', concurrency: 3 },
]

type Kind = Omit<WireJobInput, 'target' | 'payload' | 'startAt' | 'endAt'> & { payload: Work }

const everySecond = { type: 'CRON', schedule: '* * * * * *' } as const
const everyInterval = { type: 'INTERVAL', interval: 'PT1S' } as const
const everyThird = { type: 'CRON', schedule: '*/3 * * * * *', timezone: 'Europe/Berlin' } as const
const quickRetries = { backoff: 'FIXED', initialDelayMs: 200 } as const

/** Of how many in a hundred, and what. */
function kinds(random: Random): [number, Kind][] {
  const quick = random.whole(2, 60)
  const nearlyASecond = random.whole(600, 1_400)
  const failing = { ms: quick, failPercent: 15 }
  const retryPolicy = { maxAttempts: 8, ...quickRetries }
  return [
    [26, { ...everySecond, payload: { ms: quick } }],
    [6, { ...everySecond, limits: ['acct:a'], payload: { ms: quick } }],
    [3, { ...everyInterval, limits: ['shared', 'acct:b'], retryPolicy, payload: failing }],
    [20, { ...everyInterval, retryPolicy, payload: failing }],
    [10, { ...everySecond, overlap: 'FORBID', payload: { ms: nearlyASecond } }],
    [10, { ...everySecond, overlap: 'QUEUE_ONE', retryPolicy, payload: { ms: nearlyASecond, failPercent: 5 } }],
    [5, { ...everyInterval, overlap: 'REPLACE', payload: { ms: nearlyASecond } }],
    [5, { ...everyInterval, overlap: 'REPLACE', cancelGraceSec: 1, payload: { ms: nearlyASecond, deaf: true } }],
    [5, { ...everySecond, delivery: 'AT_MOST_ONCE', payload: failing }],
    [4, { ...everySecond, misfire: 'FIRE_ALL', misfireAfterSec: 2, payload: { ms: quick } }],
    [3, { ...everySecond, misfire: 'SKIP', misfireAfterSec: 2, payload: { ms: quick } }],
    [3, { ...everyThird, jitterSec: 2, startWithinSec: 5, payload: { ms: quick } }],
  ]
}

export function recurringJobs(
  count: number,
  random: Random,
  { from, to }: { from: number; to: number },
): WireJobInput[] {
  return Array.from(
    { length: count },
    (_, n): WireJobInput => ({
      // By turns rather than by chance: a small run has some of each too.
      ...atShare(kinds(random), (n * 37) % 100),
      name: `recurring ${n}`,
      target: { pool: work.pool, handler: work.name },
      startAt: new Date(from).toISOString(),
      endAt: new Date(to).toISOString(),
    }),
  )
}

function atShare<T>(shares: [number, T][], place: number): T {
  let sum = 0
  for (const [share, what] of shares) {
    sum += share
    if (place < sum) return what
  }
  throw new Error(`the shares add up to ${sum}, not to 100`)
}
