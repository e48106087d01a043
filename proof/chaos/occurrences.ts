/**
 * No scheduled occurrence may be missing or doubled. Judged twice: by the installation's own `verify`, which computes from the
 * schedules what should exist; and, for the jobs that fire every second, by counting seconds, which knows nothing of schedules.
 */
import { Database } from '../../packages/server/src/store/database.ts'
import { verifyInstallation } from '../../packages/server/src/verification/installation.ts'
import type { Finding } from '../history.ts'
import { countSeconds, type Occurrences, type SecondRow } from './seconds.ts'
import type { Stage } from './stage.ts'

/** Of the jobs that reached their end: one that is still paused has not recorded what it passes over. */
const secondsSql = `
  select e.job_id "jobId", carillon.ms(e.scheduled_for)::float8 at, coalesce(e.skipped_count, 1) count,
    carillon.ms(coalesce(e.skipped_last, e.scheduled_for))::float8 last
  from carillon.executions e join carillon.jobs j on j.job_id = e.job_id
  where j.cron = '* * * * * *' and j.state = 'COMPLETED' and e.origin = 'SCHEDULE'
  order by e.job_id, e.scheduled_for`

/** `to`: the jobs' last occurrence. */
export async function compareOccurrences(
  stage: Stage,
  { from, to }: { from: number; to: number },
): Promise<{ verified: Occurrences; counted: Occurrences }> {
  return {
    verified: await verify(stage, { from, to: to + 1, now: Date.now(), listed: 100_000 }),
    counted: countSeconds(await stage.query<SecondRow>(secondsSql), { from, to }),
  }
}

async function verify(stage: Stage, options: Parameters<typeof verifyInstallation>[1]): Promise<Occurrences> {
  const { url } = stage.postgres
  const database = new Database({ url, maxConnections: 2, statementTimeoutMs: 30_000, applicationName: 'chaos' })
  try {
    const { missed, doubled } = await verifyInstallation(database, options)
    return { missed: missed.map(told), doubled: doubled.map(told) }
  } finally {
    await database.end()
  }
}

type VerifyFinding = Awaited<ReturnType<typeof verifyInstallation>>['missed'][number]

function told({ executionId, jobId, scheduledFor, kind, why }: VerifyFinding): Finding {
  return { subject: executionId, problem: `of ${jobId} at ${scheduledFor} is ${kind} (${why}), says verify` }
}
