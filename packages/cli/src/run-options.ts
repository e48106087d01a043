/** Starting a run: of a graph that is there, or with steps of its own. */
import type { DagRunSummary, RunInput } from '@carillon/contract'
import type { Command } from 'commander'
import type { Context } from './context.ts'
import { stateText } from './dag-views.ts'
import { label } from './execution-filter.ts'
import { UsageError } from './failure.ts'
import { parseJson, readText } from './files.ts'
import { wholeNumber } from './pages.ts'
import { printable } from './table.ts'
import { parseSpan } from './times.ts'
import { watchRun } from './watch-run.ts'

export interface RunOptions {
  payload?: string
  label?: Record<string, string>
  deadlineSec?: number
  idempotencyKey?: string
  watch?: boolean
  timeout?: number
}

export function addRunOptions(command: Command): Command {
  return command
    .option('--payload <json>', 'given to every step beside its own: JSON, or @ and the path of a file')
    .option('--label <name=text>', 'may be repeated; steps inherit them', label)
    .option('--deadline-sec <seconds>', 'cancel what is left of it after this time', wholeNumber(1))
    .option('--idempotency-key <key>', 'the same key starts it once')
    .option('--watch', 'watch it until it has ended: exit code 0 if it succeeded, 1 if not')
    .option('--timeout <span>', 'with --watch: the longest to watch, such as 30s or 10m; then exit code 4', parseSpan)
}

export async function runInputOf(options: RunOptions): Promise<RunInput> {
  const { payload, label: labels, deadlineSec } = options
  if (options.timeout !== undefined && !options.watch) throw new UsageError('--timeout goes with --watch')
  return {
    ...(payload !== undefined && { payload: await payloadOf(payload) }),
    ...(labels && { labels }),
    ...(deadlineSec !== undefined && { deadlineSec }),
  }
}

export async function payloadOf(text: string): Promise<unknown> {
  if (!text.startsWith('@')) return parseJson(text, '--payload')
  return parseJson(await readText(text.slice(1)), text.slice(1))
}

/** Says that it has started, or watches it. */
export async function started(context: Context, run: DagRunSummary, { watch, timeout }: RunOptions): Promise<void> {
  const { out } = context
  out.note(`Run ${run.runId} of ${printable(run.name)}, ${run.stepCount} steps`)
  if (watch) return watchRun(context, run.runId, { timeout })
  out.document(run)
  out.line(`${run.runId}  ${out.state(run.state)(stateText(run))}`)
  out.note(`Watch it: carillon dag-runs watch ${run.runId}`)
}
