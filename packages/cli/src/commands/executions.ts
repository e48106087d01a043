import type { Execution, LogLine } from '@carillon/contract'
import type { Command } from 'commander'
import { type BulkOptions, bulk } from '../bulk.ts'
import { act, type Context } from '../context.ts'
import { addFilterOptions, type FilterOptions, filterOf, queryOf } from '../execution-filter.ts'
import { exitCodes, Negative } from '../failure.ts'
import { limitOption, list } from '../pages.ts'
import { onShutdown } from '../shutdown.ts'
import { printable } from '../table.ts'
import { absolute, duration, parseSpan, when } from '../times.ts'
import { executionColumns, whyOf } from '../views.ts'

/** `carillon executions …`: the ledger, and what is running. */
export function registerExecutions(program: Command): void {
  const executions = program
    .command('executions')
    .description('executions: list, get, logs, explain, wait, cancel, retry, copy')
  addFilterOptions(executions.command('list'))
    .description('executions, newest first; of the last 24 hours unless --job or --from is given')
    .option(...limitOption)
    .action(act(listExecutions))
  executions.command('get <id>').description('one execution, with its attempts and timeline').action(act(getExecution))
  executions
    .command('logs <id>')
    .description('the lines its handler logged')
    .option('-f, --follow', 'print them as they come until it has ended: exit code 0 if it succeeded, 1 if not')
    .option('--time', 'with the time and the attempt of each line')
    .action(act(logs))
  executions
    .command('explain <id>')
    .description('why is it not running? also by the id of a job of type AFTER')
    .action(act(explain))
  executions
    .command('wait <id>')
    .description('wait until it has ended: exit code 0 if it succeeded, 1 if not, 4 if it has not ended in time')
    .option('--timeout <span>', 'the longest wait, such as 30s or 10m', parseSpan)
    .action(act(wait))
  registerMany(executions, 'cancel', 'cancel by id, or all that match', 'cancelExecution', 'cancelExecutions')
  registerMany(executions, 'retry', 'replay dead or cancelled ones', 'retryExecution', 'retryExecutions')
  registerCopy(executions)
}

async function listExecutions(context: Context, options: FilterOptions & { limit: number }): Promise<void> {
  const { node, out } = context
  const query = queryOf(await filterOf(node, options))
  const { items, more } = await list(options.limit, (page) =>
    node.call('listExecutions', { query: { ...query, ...page } }),
  )
  out.table(items, executionColumns(context), 'No executions.')
  if (more) out.note(`There are more: --limit ${options.limit * 10}`)
}

async function getExecution(context: Context, _: unknown, executionId: string): Promise<void> {
  show(context, await context.node.call('getExecution', { params: { executionId } }))
}

function show({ out, now }: Context, execution: Execution): void {
  const json = (value: unknown) => (value === null || value === undefined ? null : JSON.stringify(value))
  out.record(execution, [
    ['execution', execution.executionId],
    ['job', execution.jobId === execution.executionId || execution.dagRunId ? null : execution.jobId],
    ['run', execution.dagRunId],
    ['name', execution.name],
    ['handler', `${execution.handler} @ ${execution.pool}`],
    ['state', execution.state, out.state(execution.state)],
    ['why', whyOf(execution)],
    ['origin', execution.origin],
    ['scheduled for', when(execution.scheduledFor, now())],
    ['started', when(execution.startedAt, now())],
    ['finished', execution.finishedAt && when(execution.finishedAt, now())],
    ['late', execution.latenessMs === null ? null : duration(execution.latenessMs)],
    ['took', execution.durationMs === null ? null : duration(execution.durationMs)],
    ['attempt', `${execution.attempt} of ${execution.maxAttempts}`],
    ['worker', execution.workerId],
    ['fence', execution.fence],
    ['payload', json(execution.payload)],
    ['progress', json(execution.progress)],
    ['result', json(execution.result)],
  ])
  if (out.json || execution.timeline.length === 0) return
  out.line()
  out.table(
    execution.timeline,
    [
      { header: 'WHEN', value: (entry) => absolute(entry.at) },
      { header: 'TO', value: (entry) => entry.to, paint: (entry) => out.state(entry.to) },
      { header: 'TRY', value: (entry) => entry.attempt, align: 'right' },
      { header: 'BY', value: (entry) => entry.actor ?? entry.workerId, flexible: true },
      {
        header: 'WHY',
        value: ({ reason, error }) => [reason, error && `${error.name}: ${error.message}`].filter(Boolean).join('  '),
        flexible: true,
      },
    ],
    '',
  )
}

interface LogsOptions {
  follow?: boolean
  time?: boolean
}

async function logs(context: Context, options: LogsOptions, executionId: string): Promise<void> {
  const { node, out } = context
  if (options.follow) return follow(context, options, executionId)
  const answer = await node.call('getExecutionLogs', { params: { executionId } })
  out.document(answer)
  if (answer.dropped > 0) out.note(`${answer.dropped} lines before these are not kept.`)
  for (const line of answer.lines) out.line(lineText(context, line, options))
  if (answer.lines.length === 0) out.note('It logged nothing.')
}

async function follow(context: Context, options: LogsOptions, executionId: string): Promise<void> {
  const { node, out } = context
  const { signal } = onShutdown(out)
  for await (const event of node.follow(executionId, { signal })) {
    out.document(event)
    if (event.type === 'line') out.line(lineText(context, event, options))
    else if (event.type === 'progress') out.note(`progress: ${printable(JSON.stringify(event.progress))}`)
    else {
      out.note(`It has ended: ${event.state}`)
      if (event.state !== 'SUCCEEDED') throw new Negative()
      return
    }
  }
  throw new Negative('', exitCodes.INTERRUPTED)
}

function lineText({ out }: Context, { at, attempt, text }: LogLine, { time }: LogsOptions): string {
  return time ? `${out.style('dim', `${absolute(at)} ${attempt}`)}  ${printable(text)}` : printable(text)
}

async function explain({ node, out }: Context, _: unknown, executionId: string): Promise<void> {
  const answer = await node.call('explainExecution', { params: { executionId } })
  out.document(answer)
  out.line(`${out.state(answer.state)(answer.state)}  ${printable(answer.summary)}`)
  for (const { code, message, hint } of answer.reasons) {
    out.line(`  ${out.style('dim', code)}  ${printable(message)}${hint ? `. ${printable(hint)}` : ''}`)
  }
}

const askForSec = 30
const answerMarginMs = 10_000

async function wait(context: Context, options: { timeout?: number }, executionId: string): Promise<void> {
  const { node, now } = context
  const until = now() + (options.timeout ?? Number.POSITIVE_INFINITY)
  for (;;) {
    const waitSec = Math.max(0, Math.min(askForSec, (until - now()) / 1_000))
    const timeoutMs = waitSec * 1_000 + answerMarginMs
    const execution = await node.call('getExecution', { params: { executionId }, query: { waitSec } }, { timeoutMs })
    const ended = execution.finishedAt !== null
    if (!ended && now() < until) continue
    show(context, execution)
    if (!ended) throw new Negative('It has not ended in time.', exitCodes.TIMED_OUT)
    if (execution.state !== 'SUCCEEDED') throw new Negative()
    return
  }
}

function registerMany(
  executions: Command,
  verb: 'cancel' | 'retry',
  does: string,
  one: 'cancelExecution' | 'retryExecution',
  many: 'cancelExecutions' | 'retryExecutions',
): void {
  const done = verb === 'cancel' ? 'cancelled' : 'replayed'
  addFilterOptions(executions.command(`${verb} [id...]`))
    .description(does)
    .option('--rate <per second>', 'with a filter: the most a second', Number)
    .option('--dry-run', 'with a filter: only count')
    .option('-y, --yes', 'do not ask')
    .action(
      act(async (context: Context, options: FilterOptions & BulkOptions, ids: string[]) => {
        const { node, out } = context
        if (ids.length === 0) {
          const filter = await filterOf(node, options)
          return bulk(context, { ask: (body) => node.call(many, { body }), filter, options, verb, done })
        }
        for (const executionId of ids) {
          const answer = await node.call(one, { params: { executionId } })
          out.document(answer)
          const state = 'outcome' in answer ? answer.outcome : answer.state
          out.line(`${executionId}  ${out.state(state)(state)}`)
        }
      }),
    )
}

function registerCopy(executions: Command): void {
  addFilterOptions(executions.command('copy'), { pool: '--from-pool' })
    .description('submit all that match again, into another pool; the originals are not touched')
    .requiredOption('--pool <name>', 'the pool that the copies go to')
    .option('--rate <per second>', 'the most a second', Number)
    .option('--dry-run', 'only count')
    .option('-y, --yes', 'do not ask')
    .action(
      act(async (context: Context, options: FilterOptions & BulkOptions & { pool: string; fromPool?: string }) => {
        const { node } = context
        const { pool, fromPool, ...others } = options
        await bulk(context, {
          ask: (body) => node.call('copyExecutions', { body: { ...body, pool } }),
          filter: await filterOf(node, { ...others, pool: fromPool }),
          ...{ options, verb: 'copy', done: 'copied', hint: 'Give a filter such as --from 24h --to now' },
        })
      }),
    )
}
