import { type DagRunSummary, dagRunStates, type InlineRunInput } from '@carillon/contract'
import { systemClock } from '@carillon/sdk'
import { type Command, Option } from 'commander'
import { act, type Context } from '../context.ts'
import { runColumns, showRun, stateText } from '../dag-views.ts'
import { label, labelQuery } from '../execution-filter.ts'
import { readYamlObject } from '../files.ts'
import { limitOption, list } from '../pages.ts'
import { addRunOptions, payloadOf, type RunOptions, runInputOf, started } from '../run-options.ts'
import { instantArgument, parseSpan } from '../times.ts'
import { watchRun } from '../watch-run.ts'

/** `carillon dag-runs …`: runs of graphs. Their steps are executions, with commands of their own. */
export function registerDagRuns(program: Command): void {
  const runs = program
    .command('dag-runs')
    .description('runs of graphs: list, get, watch, start, signal, cancel, pause, resume, retry')
  const time = instantArgument(() => systemClock.now())
  runs
    .command('list')
    .description('runs, newest first')
    .option('--dag <id or key>', 'of this graph')
    .addOption(new Option('--state <state>', 'in this state').choices(dagRunStates))
    .option('--label <name=text>', 'with this label; may be repeated', label)
    .option('--from <time>', 'created from then on: ISO 8601, or before now such as 2h', time)
    .option('--to <time>', 'created before then', time)
    .option(...limitOption)
    .action(act(listRuns))
  runs.command('get <id>').description('one run, with its steps').action(act(getRun))
  runs
    .command('watch <id>')
    .description('watch it until it has ended: exit code 0 if it succeeded, 1 if not, 4 if it has not ended in time')
    .option('--timeout <span>', 'the longest to watch, such as 30s or 10m', parseSpan)
    .action(act((context, options: { timeout?: number }, runId: string) => watchRun(context, runId, options)))
  addRunOptions(runs.command('start'))
    .description('start a run with steps of its own, from a file')
    .requiredOption('-f, --file <path>', 'name and steps as YAML or JSON; - is stdin')
    .action(act(startRun))
  runs
    .command('signal <id> <step>')
    .description('end a step that waits for a signal, such as an approval')
    .option('--payload <json>', 'its result: JSON, or @ and the path of a file')
    .action(act(signalStep))
  registerVerb(runs, 'cancel', 'what has not started never does; what runs is told to stop', 'cancelDagRun')
  registerVerb(runs, 'pause', 'what is ready or runs goes on; what becomes ready waits', 'pauseDagRun')
  registerVerb(runs, 'resume', 'go on where it was paused', 'resumeDagRun')
  registerVerb(runs, 'retry', 'run again what did not succeed; what did is kept', 'retryDagRun')
}

interface ListOptions {
  dag?: string
  state?: DagRunSummary['state']
  label?: Record<string, string>
  from?: string
  to?: string
  limit: number
}

async function listRuns(context: Context, options: ListOptions): Promise<void> {
  const { limit, dag, label: labels, ...filter } = options
  const query = { ...filter, dagId: dag, ...(labels && { label: labelQuery(labels) }) }
  const { items, more } = await list(limit, (page) =>
    context.node.call('listDagRuns', { query: { ...query, ...page } }),
  )
  context.out.table(items, runColumns(context), 'No runs.')
  if (more) context.out.note(`There are more: --limit ${limit * 10}`)
}

async function getRun(context: Context, _: unknown, runId: string): Promise<void> {
  showRun(context, await context.node.call('getDagRun', { params: { runId } }))
}

async function startRun(context: Context, options: RunOptions & { file: string }): Promise<void> {
  const given = await readYamlObject(options.file, { what: 'run', hint: 'Give steps, and a name if you like' })
  const body = { ...given, ...(await runInputOf(options)) } as InlineRunInput
  const headers = { 'idempotency-key': options.idempotencyKey }
  await started(context, await context.node.call('runSteps', { body, headers }), options)
}

async function signalStep(
  context: Context,
  { payload }: { payload?: string },
  runId: string,
  step: string,
): Promise<void> {
  const { node, out } = context
  const body = payload === undefined ? {} : { payload: await payloadOf(payload) }
  const run = await node.call('signalStep', { params: { runId, step }, body })
  out.document(run)
  out.line(`${runId}  ${step} signalled, ${run.doneCount} of ${run.stepCount} done`)
}

type Verb = 'cancel' | 'pause' | 'resume' | 'retry'

function registerVerb(
  runs: Command,
  verb: Verb,
  does: string,
  operation: 'cancelDagRun' | 'pauseDagRun' | 'resumeDagRun' | 'retryDagRun',
): void {
  runs
    .command(`${verb} <id...>`)
    .description(does)
    .action(
      act(async ({ node, out }: Context, _: unknown, ids: string[]) => {
        for (const runId of ids) {
          const run = await node.call(operation, { params: { runId } })
          out.document(run)
          out.line(`${runId}  ${out.state(run.state)(stateText(run))}  ${run.doneCount} of ${run.stepCount} done`)
        }
      }),
    )
}
