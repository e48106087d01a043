/** What the demo schedules. Every job has a key, so that a second start finds them rather than doubling them. */
import type { WireJobInput } from '@carillon/contract'
import { graph } from './graph.ts'
import { charge, digest, flaky, heartbeat, hopeless, importing, nightly, report } from './handlers.ts'

export const managedBy = 'demo'

type DemoJob = WireJobInput & { key: string }

/** They fire in the same second: the view Ahead shows that as a collision. */
const teams = ['billing', 'support', 'sales', 'growth']

export const jobs: DemoJob[] = [
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
  {
    key: 'import',
    type: 'INTERVAL',
    interval: 'PT30S',
    target: { handler: importing.name },
    payload: { rows: 10_000 },
    overlap: 'FORBID',
    labels: { team: 'data' },
  },
  {
    key: 'orders',
    name: 'Orders to the warehouse',
    type: 'INTERVAL',
    interval: 'PT30S',
    target: { dag: graph.key },
    overlap: 'QUEUE_ONE',
    labels: { team: 'data' },
  },
  ...teams.map(
    (team): DemoJob => ({
      key: `digest-${team}`,
      name: `Hourly digest, ${team}`,
      type: 'CRON',
      schedule: '0 * * * *',
      target: { handler: digest.name },
      payload: { team },
      labels: { team },
    }),
  ),
]

/** A second tenant, with work of its own. */
export const otherTenant = 'acme'

export const otherJobs: DemoJob[] = [
  {
    key: 'charge',
    type: 'INTERVAL',
    interval: 'PT10S',
    target: { handler: charge.name },
    retryPolicy: { maxAttempts: 3, initialDelayMs: 500, nonRetryableErrors: ['CardDeclined'] },
    labels: { team: 'payments' },
  },
  {
    key: 'nightly',
    type: 'CRON',
    schedule: '30 2 * * *',
    timezone: 'America/New_York',
    target: { handler: nightly.name },
  },
]
