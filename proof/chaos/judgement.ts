/** What became of a run: its history, read from the healed installation, and what is wrong with it. */
import { brokenInvariants } from '../../test/support/store-invariants.ts'
import { HealthyTime } from '../checkers/healthy-time.ts'
import { judge } from '../checkers/index.ts'
import { countGraphs, type GraphCounts } from '../graph-counts.ts'
import type { Acknowledged, Bounds, History, LedgerRow, Signal, Trouble, Violation } from '../history.ts'
import { readDagRuns, readFollowers, readLedger } from '../ledger.ts'
import { readSpans } from '../spans.ts'
import { compareOccurrences } from './occurrences.ts'
import type { Occurrences } from './seconds.ts'
import type { Stage } from './stage.ts'

export interface Observed {
  from: number
  to: number
  acknowledged: Acknowledged[]
  signals: Signal[]
  troubles: Trouble[]
  recoveryMs: number
  bounds: Bounds
}

export interface Judgement {
  /** Occurrences and acknowledged submissions that are not in the ledger. */
  lost: number
  doubled: number
  violations: Violation[]
  /** Executions that were to run: all but the skipped. */
  fired: number
  /** By their end. */
  states: Record<string, number>
  /** What runs of graphs and jobs after others came to. */
  graphs: GraphCounts
  /** Runs that were begun again: after a lost worker or answer, as promised. */
  repeated: number
  /** The longest time in which nothing was fired or finished anywhere. */
  longestGapMs: number
  /** For so long of the observed time no fault excused lateness. */
  healthyMs: number
  history: History
}

/** Workers write down times by the clock of the machine, in whole milliseconds, which is PostgreSQL's too. */
const slackMs = 2

export async function judgeStage(stage: Stage, observed: Observed): Promise<Judgement> {
  const ask = (text: string) => stage.query<Record<string, unknown>>(text)
  const history: History = {
    ...observed,
    executions: await readLedger(ask),
    dagRuns: await readDagRuns(ask),
    followers: await readFollowers(ask),
    spans: await readSpans(ask),
    runs: await stage.runs(),
    leases: null,
    silenced: [],
    slackMs,
  }
  const { verified, counted } = await compareOccurrences(stage, observed)
  const broken = await stage.query<{ execution_id: string; problem: string }>(brokenInvariants)
  const violations: Violation[] = [
    ...judge(history),
    ...[verified, counted].flatMap(occurrenceViolations),
    ...verified.others.map((finding) => ({ checker: 'verify', ...finding })),
    ...broken.map(({ execution_id, problem }) => ({ checker: 'store-invariants', subject: execution_id, problem })),
    ...unfinishedRuns(history),
    ...stage.seats.flatMap(({ name, crashes }) =>
      crashes.map((problem) => ({ checker: 'processes-stay-up', subject: name, problem })),
    ),
  ]
  const count = (name: string) => violations.filter(({ checker }) => checker === name).length
  return {
    lost: Math.max(verified.missed.length, counted.missed.length) + count('acknowledged-is-kept'),
    doubled: Math.max(verified.doubled.length, counted.doubled.length) + count('succeeds-once'),
    violations,
    fired: history.executions.filter(({ state }) => state !== 'SKIPPED').length,
    states: countBy(history.executions.map(({ state }) => state)),
    graphs: countGraphs(history),
    repeated: repeatedIn(history),
    longestGapMs: longestGap(history.executions, observed),
    healthyMs: new HealthyTime(observed).between(observed.from, observed.to),
    history,
  }
}

/** Everything the history says about one subject: for whoever looks for the cause. */
export function evidence({ executions, runs, troubles }: History, subject: string): string[] {
  const row = executions.find(({ executionId }) => executionId === subject)
  if (!row) return []
  const until = row.finishedAt ?? Number.POSITIVE_INFINITY
  return [
    JSON.stringify(row),
    ...runs.filter(({ executionId }) => executionId === subject).map((run) => JSON.stringify(run)),
    ...troubles
      .filter(({ from, to }) => to >= row.dueAt - 5_000 && from <= until + 5_000)
      .map((trouble) => JSON.stringify(trouble)),
  ]
}

/**
 * Their steps are tried until they succeed, and nobody cancels one: counted without knowing how steps wait for each other. Runs that jobs
 * start may be replaced.
 */
function unfinishedRuns({ dagRuns, executions }: History): Violation[] {
  const rows = new Map(executions.map((row) => [row.executionId, row]))
  const isDone = (row: LedgerRow | undefined) => row?.state === 'SUCCEEDED' || byCondition.has(row?.reason ?? null)
  return dagRuns.flatMap(({ runId, state, steps, startedBy }) => {
    if (startedBy !== null && rows.get(startedBy)?.state !== 'SUCCEEDED') return []
    const done = steps.filter(({ executionId }) => isDone(rows.get(executionId))).length
    if (state === 'SUCCEEDED' && done === steps.length) return []
    const problem = `is ${state}, ${done} of its ${steps.length} steps are done`
    return [{ checker: 'runs-succeed', subject: runId, problem }]
  })
}

/** Why a step is skipped without a failure. */
const byCondition = new Set<string | null>(['CONDITION_FALSE', 'DEPENDENCY_SKIPPED'])

function occurrenceViolations({ missed, doubled }: Occurrences): Violation[] {
  return [...missed, ...doubled].map((finding) => ({ checker: 'occurrences', ...finding }))
}

function countBy(words: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}

function repeatedIn({ runs }: History): number {
  const begun = new Map<string, number>()
  for (const { what, executionId } of runs) {
    if (what === 'BEGAN') begun.set(executionId, (begun.get(executionId) ?? 0) + 1)
  }
  return [...begun.values()].filter((n) => n > 1).length
}

function longestGap(rows: readonly LedgerRow[], { from, to }: Observed): number {
  const times = rows.flatMap(({ firedAt, finishedAt }) => [firedAt, finishedAt ?? firedAt])
  const within = [from, ...times.filter((at) => at > from && at < to), to].sort((a, b) => a - b)
  return within.reduce((longest, at, i) => Math.max(longest, at - (within[i - 1] ?? at)), 0)
}
