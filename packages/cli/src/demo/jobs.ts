/** What the demo schedules. Every job has a key, so that a second start finds them rather than doubling them. */
import type { WireJobInput } from '@carillon/contract'
import { flaky, heartbeat, hopeless, nightly, report } from './handlers.ts'

export const managedBy = 'demo'

export const jobs: (WireJobInput & { key: string })[] = [
  { key: 'heartbeat', type: 'INTERVAL', interval: 'PT2S', target: { handler: heartbeat.name } },
  {
    key: 'report',
    type: 'INTERVAL',
    interval: 'PT5S',
    target: { handler: report.name },
    payload: { pages: 4 },
    overlap: 'FORBID',
  },
  {
    key: 'flaky',
    type: 'INTERVAL',
    interval: 'PT7S',
    target: { handler: flaky.name },
    payload: { failureRate: 0.4 },
    retryPolicy: { maxAttempts: 5, backoff: 'FIXED', initialDelayMs: 1_000 },
  },
  {
    key: 'hopeless',
    type: 'CRON',
    schedule: '* * * * *',
    target: { handler: hopeless.name },
    retryPolicy: { maxAttempts: 2, initialDelayMs: 2_000 },
  },
  { key: 'nightly', type: 'CRON', schedule: '0 3 * * *', timezone: 'Europe/Berlin', target: { handler: nightly.name } },
]
