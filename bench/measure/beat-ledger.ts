/**
 * What the ledger says of jobs that fire once a second (createBeats of load/create-jobs.ts): which occurrences there must be
 * is known beforehand, and so whether every one of them is there, once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Installation } from '../ground/ground.ts'

/** From one whole second until another, ms since 1970. */
export interface BeatWindow {
  jobs: number
  from: number
  until: number
}

export interface BeatLedger {
  fires: number
  /** Occurrences that are not there, or have not succeeded. */
  missing: number
  /** Rows beyond the first of an occurrence. */
  doubled: number
  /** fired_at - due_at. */
  p99GapMs: number
  maxGapMs: number
  /** Executions that took more than one attempt. */
  repeated: number
}

type Counted = Omit<BeatLedger, 'missing' | 'doubled'> & { occurrences: number; succeeded: number }

const inWindow = `execution_id >= carillon.first_id($1) and execution_id < carillon.first_id($2) and origin = 'SCHEDULE'`

/** Waits until what was due in the window has succeeded, but not for ever: what is missing is told. */
export async function ledgerOf(
  installation: Installation,
  { jobs, from, until }: BeatWindow,
  withinMs = 90_000,
): Promise<BeatLedger> {
  const expected = (jobs * (until - from)) / 1_000
  const deadline = performance.now() + withinMs
  while ((await succeededIn(installation, from, until)) < expected && performance.now() < deadline) await sleep(500)
  const [row] = await installation.query<Counted>(
    `select count(*)::int fires, count(distinct (job_id, scheduled_for))::int occurrences,
       count(*) filter (where state = 'SUCCEEDED')::int succeeded, count(*) filter (where attempt > 1)::int repeated,
       coalesce(max(gap), 0)::float8 "maxGapMs",
       coalesce(percentile_disc(0.99) within group (order by gap), 0)::float8 "p99GapMs"
     from carillon.executions cross join lateral (select extract(epoch from fired_at - due_at) * 1000 gap) x
     where ${inWindow}`,
    [from, until],
  )
  const { occurrences, succeeded, ...ledger } = row!
  const doubled = ledger.fires - occurrences
  return { ...ledger, missing: expected - Math.min(occurrences, succeeded - doubled), doubled }
}

async function succeededIn(installation: Installation, from: number, until: number): Promise<number> {
  const [row] = await installation.query<{ n: number }>(
    `select count(*)::int n from carillon.executions where ${inWindow} and state = 'SUCCEEDED'`,
    [from, until],
  )
  return row!.n
}
