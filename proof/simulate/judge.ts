/** What is to be said of a run once it is over: the checkers, the invariants of the tables, verify, and what the trace saw. */
import type { Database } from '../../packages/server/src/store/database.ts'
import { verifyInstallation } from '../../packages/server/src/verification/installation.ts'
import { brokenInvariants, brokenOverlap } from '../../test/support/store-invariants.ts'
import { judge } from '../checkers/index.ts'
import type { History, Violation } from '../history.ts'
import { type Ask, readDagRuns, readFollowers, readLedger } from '../ledger.ts'
import { judgeMisfires } from './misfires.ts'

/** A request that is repeated with its Idempotency-Key is done once. */
const submittedTwice = `
  select min(execution_id::text) execution_id, name || ' was submitted ' || count(*) || ' times' problem
  from carillon.executions where origin = 'SUBMIT' and job_id = execution_id group by name having count(*) > 1
  union all
  select min(r.execution_id::text), n.name || ' was started ' || count(*) || ' times' from carillon.dag_runs r
  cross join lateral (select coalesce(r.labels ->> 'name', r.name) name) n where r.started_by is null group by r.tenant, n.name having count(*) > 1`

export async function judgeRun(
  { ask, database }: { ask: Ask; database: Database },
  seen: Omit<History, 'executions' | 'dagRuns' | 'followers'>,
): Promise<{ history: History; violations: Violation[] }> {
  const history: History = {
    ...seen,
    executions: await readLedger(ask),
    dagRuns: await readDagRuns(ask),
    followers: await readFollowers(ask),
  }
  const violations = [
    ...judge(history),
    ...(await asked(ask, 'store-invariants', brokenInvariants)),
    ...(await asked(ask, 'overlap-in-the-store', brokenOverlap)),
    ...(await asked(ask, 'submitted-once', submittedTwice)),
    ...(await judgeMisfires(ask)),
    ...(await verified(database, seen)),
  ]
  return { history, violations }
}

async function verified(database: Database, { from, to }: { from: number; to: number }): Promise<Violation[]> {
  const { missed, doubled, stuck, wrong, lost } = await verifyInstallation(database, { from, to, now: to })
  const findings = [...missed, ...doubled, ...stuck, ...wrong].map(
    ({ kind, why, jobId, executionId, scheduledFor }) => ({
      checker: checkers[kind],
      subject: executionId,
      problem: `${why}: the occurrence of ${jobId} at ${scheduledFor}`,
    }),
  )
  const gone = [...lost.minutes, ...lost.commits].map((each) => ({
    checker: 'acknowledged-is-counted',
    subject: 'installation',
    problem: `lost: ${JSON.stringify(each)}`,
  }))
  return [...findings, ...gone]
}

const checkers = {
  MISSED: 'occurrences-missed',
  DOUBLED: 'occurrences-doubled',
  STUCK: 'executions-stuck',
  WRONG: 'rows-cannot-be-true',
} as const

async function asked(ask: Ask, checker: string, sql: string): Promise<Violation[]> {
  const rows = (await ask(sql)) as { execution_id: string; problem: string }[]
  return rows.map(({ execution_id: subject, problem }) => ({ checker, subject, problem }))
}
