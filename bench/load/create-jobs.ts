/** Jobs and submissions made over the API by this process, before anything is measured. */
import type { Installation } from '../ground/ground.ts'
import { wallMs } from '../measure/clock.ts'
import { handlerOf, payloadOf, tenantCount } from '../work.ts'

export interface JobBatch {
  /** The number of the tenant. */
  tenant: number
  jobs: object[]
}

/** A node works on so many batches at a time. */
const atOnce = 4
const probes = 20
const leastMs = 2_000
const dayMs = 86_400_000

/** Sends each batch in one request. Answers the ids of the jobs, batch by batch. */
export async function createJobs(installation: Installation, batches: readonly JobBatch[]): Promise<string[][]> {
  const ids: string[][] = []
  let next = 0
  const send = async () => {
    for (let n = next++; n < batches.length; n = next++) {
      const { tenant, jobs } = batches[n]!
      const { items } = await installation.request<{ items: { jobId: string }[] }>(
        'POST /v1/jobs/batch',
        { jobs },
        installation.tokens[tenant]!,
      )
      ids[n] = items.map(({ jobId }) => jobId)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, send))
  return ids
}

/**
 * How long to allow for creating so many, so many a request: found by creating some that are due in weeks. Ample, because
 * times of schedules must be given before it is known how long it really takes.
 */
export async function msToCreate(installation: Installation, jobs: number, perRequest: number): Promise<number> {
  const from = wallMs() + 21 * dayMs
  const batches = range(probes).map((tenant) => ({
    tenant,
    jobs: range(perRequest).map((n) =>
      workOf(n, { type: 'ONE_SHOT', runAt: new Date(from + randomInt(7 * dayMs)).toISOString() }),
    ),
  }))
  // The first time the node has yet to warm up.
  await createJobs(installation, batches)
  const began = performance.now()
  await createJobs(installation, batches)
  const msPerRequest = (performance.now() - began) / probes
  return leastMs + (1.5 * msPerRequest * jobs) / perRequest
}

/** Submissions that are due now, spread over all tenants and handlers. */
export async function submitNow(installation: Installation, count: number): Promise<void> {
  await createJobs(
    installation,
    batchesOf(
      installation,
      range(count).map((n) => workOf(n, { type: 'ONE_SHOT' })),
    ),
  )
}

export interface Beat {
  jobs: number
  /** The second of the first occurrences, ms since 1970. */
  from: number
  /** So many occurrences of each. */
  seconds: number
  /** Numbers of the tenants; all unless given. */
  tenants?: number[]
}

/**
 * Jobs that fire once a second, each at a random millisecond of it. The rows of one tenant are written together and are
 * due at different times, so that those due together lie apart.
 */
export async function createBeats(
  installation: Installation,
  { jobs, from, seconds, tenants }: Beat,
): Promise<string[]> {
  const endAt = new Date(from + seconds * 1_000 - 1).toISOString()
  const wanted = range(jobs).map((n) => {
    const anchor = new Date(from + randomInt(1_000)).toISOString()
    return workOf(n, { type: 'INTERVAL', interval: 'PT1S', anchor, endAt })
  })
  return (await createJobs(installation, batchesOf(installation, wanted, tenants))).flat()
}

/** Jobs of one tenant, which are a hundred apart, have different handlers. */
export function workOf(n: number, schedule: object): object {
  return { ...schedule, target: { handler: handlerOf(n + Math.floor(n / tenantCount)) }, payload: payloadOf(n) }
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}

export function randomInt(below: number): number {
  return Math.floor(Math.random() * below)
}

/** In turns over the tenants; one batch for each. */
function batchesOf({ tokens }: Installation, jobs: object[], tenants = range(tokens.length)): JobBatch[] {
  const batches = tenants.map((tenant, at) => ({ tenant, jobs: jobs.filter((_, n) => n % tenants.length === at) }))
  return batches.filter((batch) => batch.jobs.length > 0)
}
