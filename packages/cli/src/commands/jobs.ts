import { type Job, jobStates, jobTypes } from '@carillon/contract'
import { type Command, Option } from 'commander'
import { act, type Context } from '../context.ts'
import { label, labelQuery } from '../execution-filter.ts'
import { parseJson } from '../files.ts'
import { showFires } from '../fires.ts'
import { jobIdOf } from '../job-reference.ts'
import { limitOption, list, wholeNumber } from '../pages.ts'
import { printable } from '../table.ts'
import { when } from '../times.ts'
import { executionColumns, jobColumns, scheduleOf, targetOf } from '../views.ts'
import { registerBackfill } from './jobs-backfill.ts'
import { registerCreate } from './jobs-create.ts'
import { registerVersions } from './jobs-versions.ts'

/** `carillon jobs …`: definitions, and what is to come. */
export function registerJobs(program: Command): void {
  const jobs = program
    .command('jobs')
    .description('jobs: list, get, create, pause, resume, trigger, delete, next, backfill, versions')
  jobs
    .command('list')
    .description('jobs, newest first')
    .addOption(new Option('--state <state>', 'in this state').choices(jobStates))
    .addOption(new Option('--type <type>', 'of this type').choices(jobTypes))
    .option('--search <text>', 'with this text in its name, key or handler')
    .option('--key <key>', 'with this key')
    .option('--name <name>', 'with this name')
    .option('--handler <name>', 'of this handler')
    .option('--pool <name>', 'in this pool')
    .option('--managed-by <name>', 'owned by this manager')
    .option('--label <name=text>', 'with this label; may be repeated', label)
    .option(...limitOption)
    .action(act(listJobs))
  jobs.command('get <job>').description('one job, by id or key, and its latest executions').action(act(getJob))
  registerCreate(jobs)
  registerVerb(jobs, 'pause', 'fire no more until it is resumed', 'pauseJob')
  registerVerb(jobs, 'resume', 'fire again; what passed meanwhile is recorded as SKIPPED', 'resumeJob')
  jobs
    .command('trigger <job>')
    .description('run it now, apart from its schedule')
    .option('--payload <json>', 'instead of the job’s own, for this run')
    .option('--idempotency-key <key>', 'the same key runs it once')
    .action(act(triggerJob))
  jobs
    .command('delete <job>')
    .description('delete it; what is pending of it is cancelled')
    .option('--cancel-running', 'also cancel what is running')
    .action(act(deleteJob))
  jobs
    .command('next <job>')
    .description('the next times it fires')
    .option('--count <count>', 'so many', wholeNumber(1), 10)
    .action(act(nextFires))
  registerBackfill(jobs)
  registerVersions(jobs)
}

interface ListOptions {
  state?: Job['state']
  type?: Job['type']
  search?: string
  key?: string
  name?: string
  handler?: string
  pool?: string
  managedBy?: string
  label?: Record<string, string>
  limit: number
}

async function listJobs(context: Context, options: ListOptions): Promise<void> {
  const { limit, label: labels, ...filter } = options
  const query = { ...filter, ...(labels && { label: labelQuery(labels) }) }
  const { items, more } = await list(limit, (page) => context.node.call('listJobs', { query: { ...query, ...page } }))
  context.out.table(items, jobColumns(context), 'No jobs. Create one: carillon jobs create --help')
  if (more) context.out.note(`There are more: --limit ${limit * 10}`)
}

async function getJob(context: Context, _: unknown, reference: string): Promise<void> {
  const { node, out } = context
  const jobId = await jobIdOf(node, reference)
  const job = await node.call('getJob', { params: { jobId } })
  showJob(context, job)
  if (out.json) return
  out.line()
  out.table(job.executions, executionColumns(context), 'No executions yet.')
}

/** A job's fields, one below the other. */
export function showJob({ out, now }: Context, job: Job): void {
  out.record(job, [
    ['job', job.jobId],
    ['key', job.key],
    ['name', job.name],
    ['tenant', job.tenant],
    ['managed by', job.managedBy],
    ['state', job.state, out.state(job.state)],
    ['version', job.version],
    ['schedule', scheduleOf(job)],
    ['target', targetOf(job)],
    ['priority', job.priority],
    ['payload', job.payload === null ? null : JSON.stringify(job.payload)],
    [
      'labels',
      Object.entries(job.labels)
        .map(([name, text]) => `${name}=${text}`)
        .join(' '),
    ],
    ['limits', job.limits.join(' ')],
    ['overlap', job.overlap],
    ['misfire', job.misfire],
    ['attempts', job.retryPolicy.maxAttempts],
    ['timeout', `${job.timeoutSec} s`],
    ['next fire', when(job.nextFireAt, now())],
    ['', job.nextFireLocal && job.timezone !== 'UTC' ? `${job.nextFireLocal} in ${job.timezone}` : null],
    ['last run', job.lastRunAt && `${when(job.lastRunAt, now())} ${job.lastState ?? ''}`],
  ])
}

function registerVerb(jobs: Command, verb: string, does: string, operation: 'pauseJob' | 'resumeJob'): void {
  jobs
    .command(`${verb} <job>`)
    .description(does)
    .action(
      act(async (context, _, reference: string) => {
        const { node, out, now } = context
        const jobId = await jobIdOf(node, reference)
        const job = await node.call(operation, { params: { jobId } })
        out.document(job)
        const next = job.nextFireAt === null ? '' : `, next fire ${when(job.nextFireAt, now())}`
        out.line(`${printable(job.name)} is ${out.state(job.state)(job.state)}${next}`)
      }),
    )
}

async function triggerJob(
  { node, out }: Context,
  options: { payload?: string; idempotencyKey?: string },
  reference: string,
): Promise<void> {
  const jobId = await jobIdOf(node, reference)
  const body = options.payload === undefined ? {} : { payload: parseJson(options.payload, '--payload') }
  const headers = { 'idempotency-key': options.idempotencyKey }
  const execution = await node.call('triggerJob', { params: { jobId }, body, headers })
  out.document(execution)
  out.line(`Execution ${execution.executionId} is ${out.state(execution.state)(execution.state)}`)
  out.note(`Wait for it: carillon executions wait ${execution.executionId}`)
}

async function deleteJob(
  { node, out }: Context,
  options: { cancelRunning?: boolean },
  reference: string,
): Promise<void> {
  const jobId = await jobIdOf(node, reference)
  await node.call('deleteJob', { params: { jobId }, query: { cancelRunning: options.cancelRunning } })
  out.document({ jobId, deleted: true })
  out.line(`Deleted ${reference}`)
}

async function nextFires({ node, out, now }: Context, options: { count: number }, reference: string): Promise<void> {
  const jobId = await jobIdOf(node, reference)
  const answer = await node.call('nextFires', { params: { jobId }, query: { count: options.count } })
  const paused = answer.state === 'PAUSED'
  if (paused) out.line(`${reference} is paused and does not fire. Resumed now, it would fire at:`)
  showFires(out, { ...answer, now: now() })
}
