/**
 * The README's requests with a client that openapi-typescript generated from the node's document (`./schema.d.ts`, beside a
 * copy of this file). Run with the address of a node; prints the result of the execution.
 */
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.d.ts'

const client = createClient<paths>({ baseUrl: process.argv[2]! })

await client.POST('/v1/pools', { body: { name: 'batch-etl' } })
const created = await client.POST('/v1/jobs', {
  params: { header: { 'idempotency-key': '5f0c' } },
  body: {
    name: 'daily-invoice-gen',
    type: 'CRON',
    schedule: '0 3 * * *',
    timezone: 'America/Los_Angeles',
    target: { pool: 'batch-etl', handler: 'generate_invoices' },
    payload: { dateRange: 'yesterday' },
    retryPolicy: { maxAttempts: 3, backoff: 'EXPONENTIAL', initialDelayMs: 30_000 },
    timeoutSec: 600,
    priority: 'NORMAL',
  },
})
const jobs = await client.GET('/v1/jobs', { params: { query: { state: 'ACTIVE', limit: 10 } } })
expect(
  jobs.data?.items.some(({ jobId }) => jobId === created.data?.jobId),
  'the job is not in the list',
)
const preview = await client.POST('/v1/schedules/preview', {
  body: { type: 'CRON', schedule: '30 2 * * *', timezone: 'Europe/Berlin', count: 3 },
})
expect(preview.data?.fires.length === 3, 'the preview has not three times')

const submitted = await client.POST('/v1/jobs', {
  body: {
    type: 'ONE_SHOT',
    target: { pool: 'batch-etl', handler: 'generate_invoices' },
    payload: { dateRange: 'today' },
    dedupe: { key: 'today' },
  },
})
const announced = await client.POST('/v1/workers', {
  body: { name: 'example', pools: [{ pool: 'batch-etl', handlers: ['generate_invoices'], slots: 1 }] },
})
const path = { workerId: announced.data!.workerId }
const leased = await client.POST('/v1/workers/{workerId}/lease', {
  params: { path },
  body: { pool: 'batch-etl', slots: 1 },
})
const { executionId, fence } = leased.data!.executions[0]!
const succeeded: components['schemas']['Outcome'] = {
  outcome: 'SUCCEEDED',
  executionId,
  fence,
  result: 'done for today',
}
await client.POST('/v1/workers/{workerId}/report', { params: { path }, body: { outcomes: [succeeded] } })

const ended = await client.GET('/v1/executions/{executionId}', {
  params: { path: { executionId: submitted.data!.jobId }, query: { waitSec: 30 } },
})
expect(ended.data?.state === 'SUCCEEDED', `the execution is ${ended.data?.state}`)
const missing = await client.GET('/v1/jobs/{jobId}', {
  params: { path: { jobId: executionId.replaceAll(/\d/g, '0') } },
})
expect(missing.error?.code === 'JOB_NOT_FOUND', 'an unknown job is no problem document')
console.log(ended.data?.result)

/** What the compiler must refuse; never run. */
export const wrong: components['schemas']['JobInput'][] = [
  // @ts-expect-error an interval is not for CRON
  { type: 'CRON', schedule: '0 3 * * *', interval: 'PT5M', target: { handler: 'h' } },
  // @ts-expect-error a CRON needs a schedule
  { type: 'CRON', target: { handler: 'h' } },
  // @ts-expect-error dedupe goes with what runs once
  { type: 'INTERVAL', interval: 'PT5M', target: { handler: 'h' }, dedupe: { key: 'k' } },
]
export const replaced: components['schemas']['JobReplacement'] = {
  type: 'ONE_SHOT',
  target: { handler: 'h' },
  // @ts-expect-error dedupe is refused when a definition is replaced
  dedupe: { key: 'k' },
}
// @ts-expect-error a failure names its error
export const failed: components['schemas']['Outcome'] = { outcome: 'FAILED', executionId, fence }

function expect(condition: unknown, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise)
}
