/**
 * How late handlers began, and whether every occurrence ran, once. Lateness is handler start minus due time: taken in the
 * worker's process, both by this machine's clock, in whole milliseconds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Installation, Run, Workers } from '../ground/ground.ts'
import { wallMs } from './clock.ts'
import { quantiles } from './quantiles.ts'

export interface Lateness {
  count: number
  p50: number
  p99: number
  p999: number
  longest: number
}

/** Ms since 1970; until is exclusive. */
export interface Window {
  from: number
  until: number
}

/** Of the runs that were due in the window. */
export function latenessOf(runs: readonly Run[], window: Window): Lateness {
  const lateMs = dueIn(runs, window).map(({ startedAt, dueAt }) => startedAt - dueAt)
  const [p50, p99, p999, longest] = quantiles(lateMs, [0.5, 0.99, 0.999, 1]) as [number, number, number, number]
  return { count: lateMs.length, p50, p99, p999, longest }
}

/** By the ledger's own times: fired, and started, after due. */
export interface LedgerLateness {
  firedP99: number
  startedP99: number
}

export interface Kept extends LedgerLateness {
  /** Occurrences that did not run, or are not in the ledger as SUCCEEDED. */
  missing: number
  /** Runs beyond the first of an execution, and executions nobody asked for. */
  doubled: number
}

/** Holds ledger and runs against what should be: `occurrences` of each of these jobs, due in the window, each run once. */
export async function keptOf(
  installation: Installation,
  { jobIds, occurrences, ...window }: Window & { jobIds: readonly string[]; occurrences: number },
  runs: readonly Run[],
): Promise<Kept> {
  const { total, kept, ...lateness } = await ledgerOf(installation, jobIds, window)
  const due = dueIn(runs, window)
  const executions = new Set(due.map(({ executionId }) => executionId)).size
  const expected = jobIds.length * occurrences
  return {
    missing: expected - Math.min(kept, executions),
    doubled: due.length - executions + Math.max(0, total - expected),
    ...lateness,
  }
}

/** What the ledger holds of these jobs, due in the window. `kept`: occurrences that have SUCCEEDED. */
export async function ledgerOf(
  installation: Installation,
  jobIds: readonly string[],
  { from, until }: Window,
): Promise<LedgerLateness & { total: number; kept: number }> {
  const [row] = await installation.query<LedgerLateness & { total: number; kept: number }>(
    `select count(*)::int total,
       count(distinct (job_id, scheduled_for)) filter (where state = 'SUCCEEDED')::int kept,
       coalesce(percentile_disc(0.99) within group (order by carillon.ms(fired_at) - carillon.ms(due_at)), 0)::int "firedP99",
       coalesce(percentile_disc(0.99) within group (order by carillon.ms(started_at) - carillon.ms(due_at)), 0)::int "startedP99"
     from carillon.executions
     where execution_id >= carillon.first_id($1) and execution_id < carillon.first_id($2) and job_id = any ($3::uuid[])`,
    [from, until, jobIds],
  )
  return row!
}

function dueIn(runs: readonly Run[], { from, until }: Window): Run[] {
  return runs.filter(({ dueAt }) => dueAt >= from && dueAt < until)
}

/** Waits until so many handlers have begun and all are reported, but not for ever: what is missing is found afterwards. */
export async function settled(
  installation: Installation,
  workers: Workers,
  { begun, withinMs }: { begun: number; withinMs: number },
): Promise<void> {
  const until = performance.now() + withinMs
  for (;;) {
    const { ready, running } = await installation.unfinished()
    if ((workers.count() >= begun && ready + running === 0) || performance.now() > until) return
    await sleep(100)
  }
}

/** Waits for a time of the wall clock. */
export async function untilWall(at: number): Promise<void> {
  for (let left = at - wallMs(); left > 0; left = at - wallMs()) await sleep(left)
}

/** The first whole second that is at least so far ahead. */
export function secondAhead(ms: number): number {
  return Math.ceil((wallMs() + ms) / 1_000) * 1_000
}
