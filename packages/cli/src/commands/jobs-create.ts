import {
  dayFieldPolicies,
  dstGaps,
  dstOverlaps,
  followedEnds,
  misfirePolicies,
  overlapPolicies,
  priorities,
  type WireJobInput,
} from '@carillon/contract'
import { type Command, Option } from 'commander'
import { act, type Context } from '../context.ts'
import { collect, label } from '../execution-filter.ts'
import { UsageError } from '../failure.ts'
import { parseJson, readYamlObject } from '../files.ts'
import { wholeNumber } from '../pages.ts'
import { instantOrLocal, parseSpan } from '../times.ts'
import { showJob } from './jobs.ts'

export function registerCreate(jobs: Command): void {
  jobs
    .command('create')
    .description('create a job, or run something now')
    .option('-f, --file <path>', 'the definition as YAML or JSON; - is stdin')
    .option('--name <name>')
    .option('--key <key>', 'unique; creating it again changes nothing, or updates it')
    .option('--handler <name>', 'what a worker runs')
    .option('--pool <name>', 'whose workers run it')
    .option(
      '--http <url>',
      'call this URL instead of a handler; env:NAME or file:/path if the URL is a secret of the node',
    )
    .option('--dag <graph>', 'start a run of this graph, by its id or key')
    .addOption(new Option('--cron <expression>', 'on a cron schedule').conflicts(['every', 'at', 'in', 'after']))
    .addOption(
      new Option('--every <duration>', 'at an interval: ISO 8601 such as PT15M').conflicts(['at', 'in', 'after']),
    )
    .addOption(
      new Option('--at <time>', 'once, then: ISO 8601 with an offset, or a time on the clock of --timezone')
        .argParser(instantOrLocal)
        .conflicts(['in', 'after']),
    )
    .addOption(
      new Option('--in <span>', 'once, after a time such as 90s or 2h').argParser(parseSpan).conflicts('after'),
    )
    .option('--after <job>', 'whenever an execution of this job, by its id or key, has ended')
    .addOption(new Option('--on <end>', 'how it has to have ended; SUCCEEDED if left out').choices(followedEnds))
    .option('--timezone <zone>', 'of the cron expression or the time, such as Europe/Berlin')
    .addOption(new Option('--gap <policy>', 'a time that does not exist').choices(dstGaps))
    .addOption(new Option('--twice <policy>', 'a time that comes twice').choices(dstOverlaps))
    .addOption(new Option('--day-fields <policy>', 'a cron with both day fields').choices(dayFieldPolicies))
    .option('--payload <json>', 'for the handler')
    .addOption(new Option('--priority <priority>').choices(priorities))
    .addOption(new Option('--overlap <policy>', 'when it still runs').choices(overlapPolicies))
    .addOption(new Option('--misfire <policy>', 'when its time was missed').choices(misfirePolicies))
    .option('--timeout-sec <seconds>', 'for each attempt', Number)
    .option('--max-attempts <count>', 'tries in all', wholeNumber(1))
    .option('--label <name=text>', 'may be repeated', label)
    .option('--limit <limit>', 'counts it, such as acct:{payload.accountId}; may be repeated', collect)
    .option('--idempotency-key <key>', 'the same key creates it once')
    .addHelpText(
      'after',
      `
Without --cron, --every, --at, --in and --after it runs now.

Examples:
  $ carillon jobs create --handler greet --payload '{"name": "Ada"}'
  $ carillon jobs create --key nightly --handler report --cron '0 3 * * *' --timezone Europe/Berlin
  $ carillon jobs create --handler greet --at 2030-03-10T02:30 --timezone America/New_York
  $ carillon jobs create --key 'nightly load' --dag load --cron '0 3 * * *' --overlap FORBID
  $ carillon jobs create --key 'send report' --handler send --after report
  $ carillon jobs create -f job.yaml`,
    )
    .action(act(createJob))
}

interface CreateOptions {
  file?: string
  name?: string
  key?: string
  handler?: string
  pool?: string
  http?: string
  dag?: string
  cron?: string
  every?: string
  at?: string
  in?: number
  after?: string
  on?: (typeof followedEnds)[number]
  timezone?: string
  gap?: (typeof dstGaps)[number]
  twice?: (typeof dstOverlaps)[number]
  dayFields?: WireJobInput['dayFields']
  payload?: string
  priority?: WireJobInput['priority']
  overlap?: WireJobInput['overlap']
  misfire?: WireJobInput['misfire']
  timeoutSec?: number
  maxAttempts?: number
  label?: Record<string, string>
  limit?: string[]
  idempotencyKey?: string
}

async function createJob(context: Context, options: CreateOptions): Promise<void> {
  const { node, out } = context
  const { file, idempotencyKey, ...flags } = options
  if (file !== undefined && Object.keys(flags).length > 0)
    throw new UsageError({ message: 'a file and other options say two things', hint: 'Put all of it into the file' })
  const body = file === undefined ? fromFlags(flags) : await fromFile(file)
  const job = await node.call('createJob', { body, headers: { 'idempotency-key': idempotencyKey } })
  showJob(context, job)
  if (body.type === 'ONE_SHOT' && body.runAt === undefined)
    out.note(`Wait for it: carillon executions wait ${job.jobId}`)
}

async function fromFile(path: string): Promise<WireJobInput> {
  const hint = 'Give the fields of one job; for several: carillon apply'
  return (await readYamlObject(path, { what: 'job', hint })) as WireJobInput
}

function fromFlags(options: Omit<CreateOptions, 'file' | 'idempotencyKey'>): WireJobInput {
  const {
    handler,
    pool,
    http,
    dag,
    cron,
    every,
    at,
    in: delayMs,
    after,
    on,
    maxAttempts,
    label: labels,
    limit: limits,
    payload,
    ...others
  } = options
  const { gap, twice, ...same } = others
  if (on !== undefined && after === undefined)
    throw new UsageError({ message: '--on goes with --after', hint: 'Name the job that it follows, or leave it out' })
  if ([handler, http, dag].filter((each) => each !== undefined).length !== 1)
    throw new UsageError({
      message: 'what is to be run?',
      hint: 'Give one of --handler, --http and --dag, or a file with -f',
    })
  if (handler === undefined && pool !== undefined)
    throw new UsageError({ message: '--pool goes with --handler', hint: 'Leave it out: nodes do this themselves' })
  return {
    ...same,
    ...whenOf({ cron, every, at, delayMs, after, on }),
    ...((gap || twice) && { dst: { ...(gap && { gap }), ...(twice && { overlap: twice }) } }),
    target: targetOf({ handler, pool, http, dag }),
    ...(payload !== undefined && { payload: parseJson(payload, '--payload') }),
    ...(maxAttempts !== undefined && { retryPolicy: { maxAttempts } }),
    ...(labels && { labels }),
    ...(limits && { limits }),
  }
}

function targetOf({
  handler,
  pool,
  http,
  dag,
}: Pick<CreateOptions, 'handler' | 'pool' | 'http' | 'dag'>): WireJobInput['target'] {
  if (http !== undefined) return { http: { url: /^(env|file):/.test(http) ? { secretRef: http } : http } }
  if (dag !== undefined) return { dag }
  return { handler, ...(pool !== undefined && { pool }) }
}

type When = Pick<CreateOptions, 'cron' | 'every' | 'at' | 'after' | 'on'> & { delayMs?: number }

function whenOf({ cron, every, at, delayMs, after, on }: When) {
  if (after !== undefined) return { type: 'AFTER', after: { job: after, ...(on && { on }) } } as const
  if (cron !== undefined) return { type: 'CRON', schedule: cron } as const
  if (every !== undefined) return { type: 'INTERVAL', interval: every } as const
  if (delayMs !== undefined) return { type: 'DELAYED', delayMs } as const
  return at === undefined ? ({ type: 'ONE_SHOT' } as const) : ({ type: 'ONE_SHOT', runAt: at } as const)
}
