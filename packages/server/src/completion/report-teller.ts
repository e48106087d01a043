/**
 * Tells Activity which attempts have ended. What an execution is, a report does not say; the node that leased it remembers. The rest
 * (leased by another node, or ended by what a person or a transaction did meanwhile) is read from the ledger, after the answer.
 */
import type { Activity, AttemptOutcome, EndedBatch, Work } from '../observability/activity.ts'
import { other } from '../observability/families.ts'
import type { LeasedWork } from '../observability/leased-work.ts'
import type { Database } from '../store/database.ts'
import { readWorks } from '../store/executions/read-works.ts'
import type { AttemptEnd, Reported } from '../store/executions/report.ts'
import type { Ending } from './decide.ts'

export interface TellOptions {
  database: Database
  activity: Activity
  leasedWork: LeasedWork
}

/** Looked up at the same time; beyond that an attempt is counted without its handler. */
const mostLookedUp = 5_000
const unknown: Work = { tenant: '', pool: '', handler: other }

type State = EndedBatch['states'][number]

interface Unclear {
  executionId: string
  outcome: AttemptEnd['outcome']
  durationMs: number
  hasEnded: boolean
}

export class ReportTeller {
  readonly #options: TellOptions
  #lookedUp = 0

  constructor(options: TellOptions) {
    this.#options = options
  }

  /** Of what was reported, decided and answered, in the same order. */
  reported(told: readonly Ending[], decided: readonly AttemptEnd[], answer: Reported, now: number): void {
    const { activity, leasedWork } = this.#options
    const ended = answer.ended.length === decided.length ? null : new Set(answer.ended)
    const batch = new Ends()
    const unclear: Unclear[] = []
    let stale = 0
    for (let i = 0; i < decided.length; i++) {
      if (answer.verdicts[i] === 'REFUSED' && told[i]!.from === 'WORKER') stale++
      if (answer.verdicts[i] !== 'ACCEPTED') continue
      const { executionId, fence, outcome, next } = decided[i]!
      const held = leasedWork.take(fence)
      const hasEnded = ended === null || ended.has(executionId)
      const durationMs = durationOf(told[i]!, held?.leasedAt ?? null, now)
      const state = hasEnded ? endOf(outcome, next) : null
      if (held === null || state === 'UNCLEAR') unclear.push({ executionId, outcome, durationMs, hasEnded })
      else batch.add(held.work, outcomeOf(outcome, state), durationMs, state)
    }
    activity.batch('REPORT', decided.length)
    activity.reported(batch)
    if (stale > 0) activity.staleReports(stale)
    if (unclear.length > 0) void this.#lookUp(unclear)
  }

  async #lookUp(unclear: Unclear[]): Promise<void> {
    const { database, activity } = this.#options
    const isTooMuch = this.#lookedUp + unclear.length > mostLookedUp
    this.#lookedUp += unclear.length
    const ids = isTooMuch ? [] : unclear.map(({ executionId }) => executionId)
    const works = new Map((await readWorks(database, ids).catch(() => [])).map((work) => [work.executionId, work]))
    this.#lookedUp -= unclear.length
    const batch = new Ends()
    for (const { executionId, outcome, durationMs, hasEnded } of unclear) {
      const work = works.get(executionId)
      const state = hasEnded && work && work.state !== 'SKIPPED' ? work.state : null
      batch.add(work ?? unknown, outcomeOf(outcome, state), durationMs, state)
    }
    activity.reported(batch)
  }
}

class Ends implements EndedBatch {
  readonly works: Work[] = []
  readonly outcomes: AttemptOutcome[] = []
  readonly durationMs: number[] = []
  readonly states: State[] = []

  add(work: Work, outcome: AttemptOutcome, durationMs: number, state: State): void {
    this.works.push(work)
    this.outcomes.push(outcome)
    this.durationMs.push(durationMs)
    this.states.push(state)
  }
}

/** A request to cancel, or a transaction that completed it, goes before what the report says: see functions/ends/report.sql. */
function endOf(outcome: AttemptEnd['outcome'], next: AttemptEnd['next']): State | 'UNCLEAR' {
  if (outcome === 'SUCCEEDED') return 'SUCCEEDED'
  return next === 'DEAD' && outcome !== 'COMPLETED_IN_TRANSACTION' ? 'DEAD' : 'UNCLEAR'
}

/** A worker that does not say when the handler began leaves the time of the lease. */
function durationOf({ from, said }: Ending, leasedAt: number | null, now: number): number {
  const began = (from === 'WORKER' ? said.startedAt : null) ?? (said.outcome === 'HANDED_BACK' ? null : leasedAt)
  if (began === null) return -1
  return Math.max(0, (from === 'WORKER' ? said.finishedAt : now) - began)
}

function outcomeOf(outcome: AttemptEnd['outcome'], state: State): AttemptOutcome {
  if (outcome !== 'COMPLETED_IN_TRANSACTION') return outcome
  return state === 'SUCCEEDED' ? 'SUCCEEDED' : 'FAILED'
}
