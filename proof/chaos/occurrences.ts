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
): Promise<{ verified: Verified; counted: Occurrences }> {
  return {
    verified: await verify(stage, { from, to: to + 1, now: Date.now(), listed: 100_000 }),
    counted: countSeconds(await stage.query<SecondRow>(secondsSql), { from, to }),
  }
}

type Verified = Occurrences & {
  /** Executions that are stuck, rows that cannot be true, submissions that are gone. */
  others: Finding[]
}

async function verify(stage: Stage, options: Parameters<typeof verifyInstallation>[1]): Promise<Verified> {
  const { url } = stage.postgres
  const database = new Database({ url, maxConnections: 2, statementTimeoutMs: 30_000, applicationName: 'chaos' })
  try {
    const { missed, doubled, stuck, wrong, lost } = await verifyInstallation(database, options)
    const gone = [...lost.minutes, ...lost.commits].map((each) => ({
      subject: 'installation',
      problem: `lost what was acknowledged: ${JSON.stringify(each)}`,
    }))
    const others = [...[...stuck, ...wrong].map(told), ...gone]
    return { missed: missed.map(told), doubled: doubled.map(told), others }
  } finally {
    await database.end()
  }
}

type VerifyFinding = Awaited<ReturnType<typeof verifyInstallation>>['missed'][number]

function told({ executionId, jobId, scheduledFor, kind, why }: VerifyFinding): Finding {
  return { subject: executionId, problem: `of ${jobId} at ${scheduledFor} is ${kind} (${why}), says verify` }
}
