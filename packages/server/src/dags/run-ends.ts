/**
 * Tells executions how the runs ended that they have started. It comes before the end of the run is written: a node that dies in between
 * leaves a run that has not ended, and the next leader tells again, under the same fence.
 */
import { limits } from '@carillon/contract'
import type { ReportedOutcome } from '@carillon/sdk'
import type { Clock } from '../lib/clock.ts'
import type { Released } from '../store/dags/advance.ts'
import { type FirstFailure, readFirstFailure, readRunResults } from '../store/dags/started.ts'
import type { Database } from '../store/database.ts'

export interface RunEndsOptions {
  database: Database
  clock: Clock
  /** Reports an outcome, as an external system does for what was deferred. */
  end: (told: {
    executionId: string
    fence: number
    actor: string
    from: 'WORKER'
    said: Exclude<ReportedOutcome, { outcome: 'DEFERRED' }>
  }) => Promise<'ACCEPTED' | 'REFUSED' | 'BUSY'>
}

/** A run of which all steps have ended. */
export type EndedRun = Pick<
  Released,
  'runId' | 'startedBy' | 'startedFence' | 'failed' | 'maxFailures' | 'cancelReason' | 'fanOut'
>

export class RunEnds {
  readonly #options: RunEndsOptions

  constructor(options: RunEndsOptions) {
    this.#options = options
  }

  /** False: it cannot be told now. One that waits no more under this fence need not be told. */
  async tell(run: EndedRun): Promise<boolean> {
    const { startedBy, startedFence } = run
    const lease = { executionId: startedBy!, fence: startedFence! }
    const base = { ...lease, startedAt: null, finishedAt: this.#options.clock.now() }
    const outcome = await this.#outcomeOf(run)
    // The same actor as of other external systems: see defer.sql.
    const told = { ...lease, actor: 'target', from: 'WORKER' as const, said: { ...base, ...outcome } }
    return (await this.#options.end(told)) !== 'BUSY'
  }

  async #outcomeOf(run: EndedRun): Promise<Outcome> {
    const { database } = this.#options
    const end = endOf(run)
    if (end === 'CANCELLED') return { outcome: 'CANCELLED' }
    if (end === 'SUCCEEDED') {
      const result = resultOf(await readRunResults(database, run.runId, limits.stepInputBytes), run.fanOut)
      if (result !== null) return { outcome: 'SUCCEEDED', result }
      const message = `the results of the run ${run.runId} are larger than ${limits.stepInputBytes} bytes together; return references to them`
      return failed({ name: 'ResultTooLarge', message }, true)
    }
    const failure = await readFirstFailure(database, run.runId)
    return failed({ name: 'RunFailed', message: messageOf(run, failure) }, false)
  }
}

type Outcome =
  | { outcome: 'CANCELLED' }
  | { outcome: 'SUCCEEDED'; result: string }
  | { outcome: 'FAILED'; error: { name: string; message: string }; permanent?: true }

function failed(error: { name: string; message: string }, permanent: boolean): Outcome {
  return { outcome: 'FAILED', error, ...(permanent && { permanent }) }
}

/** As ADVANCE writes it. */
export function endOf({
  failed,
  maxFailures,
  cancelReason,
}: Pick<EndedRun, 'failed' | 'maxFailures' | 'cancelReason'>): 'SUCCEEDED' | 'FAILED' | 'CANCELLED' {
  if (failed === 0 || (cancelReason === null && failed <= maxFailures)) return 'SUCCEEDED'
  return cancelReason === 'RUN_CANCELLED' ? 'CANCELLED' : 'FAILED'
}

/** JSON text: of a fan-out the list of the results, null for an item that failed; of a graph those of its last steps, by name. Null: too large. */
export function resultOf(
  results: readonly { name: string; result: string | null }[] | null,
  isFanOut: boolean,
): string | null {
  if (results === null) return null
  if (isFanOut) return `[${results.map(({ result }) => result ?? 'null').join(',')}]`
  return `{${results.map(({ name, result }) => `${JSON.stringify(name)}:${result ?? 'null'}`).join(',')}}`
}

function messageOf({ runId, failed, cancelReason }: EndedRun, failure: FirstFailure | null): string {
  if (cancelReason === 'RUN_DEADLINE') return `the run ${runId} was not done by its deadline`
  const count = failed === 1 ? 'a step' : `${failed} steps`
  if (failure === null) return `${count} of the run ${runId} failed`
  const { name, state, reason, error } = failure
  const why = error ? `${error.name}: ${error.message}` : `${state}${reason === null ? '' : ` (${reason})`}`
  return `${count} of the run ${runId} failed, first ${name}: ${why}`.slice(0, 2_000)
}
