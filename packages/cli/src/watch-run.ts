/** Watches a run of a graph: what its steps do as it happens on stderr, and the run with its steps at the end. */
import { setTimeout as after } from 'node:timers/promises'
import type { DagRun } from '@carillon/contract'
import type { Context } from './context.ts'
import { showRun, stateText, stepLine } from './dag-views.ts'
import { exitCodes, Negative } from './failure.ts'
import { printable } from './table.ts'

/** A run is read with all its steps: the more there are, the less often. */
const askEveryMs = ({ stepCount }: DagRun) => Math.max(500, stepCount * 4)

/** Returns when the run has SUCCEEDED. Ctrl-C leaves it going on and says how to stop it. */
export async function watchRun(context: Context, runId: string, options: { timeout?: number } = {}): Promise<void> {
  const { node, out, now } = context
  const until = now() + (options.timeout ?? Number.POSITIVE_INFINITY)
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  process.once('SIGINT', interrupt)
  const read = () => node.call('getDagRun', { params: { runId } })
  let run: DagRun
  try {
    run = await read()
    while (run.state === 'RUNNING' && now() < until && !interrupted.signal.aborted) {
      out.progress(progressText(run))
      const waitMs = Math.min(askEveryMs(run), until - now())
      await after(waitMs, undefined, { signal: interrupted.signal }).catch(() => {})
      const before = run
      run = await read()
      out.progress(null)
      tellChanges(context, before, run)
    }
  } finally {
    out.progress(null)
    process.off('SIGINT', interrupt)
  }
  if (interrupted.signal.aborted && run.state === 'RUNNING') {
    out.note(`It goes on by itself. To stop it: carillon dag-runs cancel ${runId}`)
    throw new Negative('', exitCodes.INTERRUPTED)
  }
  showRun(context, run)
  if (run.state === 'RUNNING') throw new Negative('It has not ended in time.', exitCodes.TIMED_OUT)
  if (run.state !== 'SUCCEEDED') throw new Negative()
}

function tellChanges(context: Context, before: DagRun, run: DagRun): void {
  const states = new Map(before.steps.map((step) => [step.name, step.state]))
  for (const step of run.steps) {
    if (states.get(step.name) !== step.state) context.out.note(stepLine(context, step))
  }
}

function progressText(run: DagRun): string {
  const running = run.steps.filter((step) => step.state === 'RUNNING').map((step) => step.name)
  const [first, ...others] = running
  const names = first === undefined ? '' : `: ${first}${others.length > 0 ? ` and ${others.length} more` : ''}`
  return printable(`${run.name} ${stateText(run)}  ${run.doneCount} of ${run.stepCount} done${names}`)
}
