import type { Finding } from '@carillon/contract'
import { systemClock, type VerifyResult } from '@carillon/sdk'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { exitCodes, Negative, UsageError } from '../failure.ts'
import { jobIdOf } from '../job-reference.ts'
import { wholeNumber } from '../pages.ts'
import type { Column } from '../table.ts'
import { absolute, duration, instantArgument, parseSpan } from '../times.ts'
import { showHistory } from '../verified-history.ts'

/** `carillon verify`: did every occurrence happen, and none twice? */
export function registerVerify(program: Command): void {
  const time = instantArgument(() => systemClock.now())
  program
    .command('verify')
    .description(
      'did everything fire that should have, once, and end? exit code 1 if something is missing, double, stuck, wrong or lost',
    )
    .option('--from <time>', 'what was due from then on: ISO 8601, or before now such as 24h', time)
    .option('--to <time>', 'and before then; now unless given', time)
    .option('--job <job>', 'only this one: its id or key')
    .option('--late-after <span>', 'fired later than that is late', parseSpan, 1_000)
    .option('--history', 'what the nodes have found by themselves, in all and by day, instead')
    .option('--limit <count>', 'how many findings to list; all are counted', wholeNumber(0), 50)
    .addHelpText(
      'after',
      `
It computes again from the schedules, as they were at the time, which occurrences should exist, and looks for each in
the ledger; looks at every row beside the queues; and counts the submissions that were acknowledged. With a platform token it verifies one tenant at a time: --tenant.

Examples:
  $ carillon verify --from 24h
  $ carillon verify --from 2030-01-01 --to 2030-02-01 --job nightly
  $ carillon verify --history`,
    )
    .action(act(verify))
}

interface VerifyOptions {
  from?: string
  history?: boolean
  to?: string
  job?: string
  lateAfter: number
  limit: number
}

async function verify(context: Context, options: VerifyOptions): Promise<void> {
  const { node, out } = context
  const { from, to, lateAfter: lateAfterMs, limit } = options
  if (options.history) return showHistory(context)
  if (from === undefined)
    throw new UsageError({ message: '--from is required', hint: 'Such as --from 24h; or give --history' })
  if (Date.parse(from) >= Date.parse(to ?? new Date(context.now()).toISOString()))
    throw new UsageError({
      message: `--from ${from} is not before --to ${to ?? 'now'}`,
      hint: 'Give an earlier --from',
    })
  const jobId = options.job === undefined ? undefined : await jobIdOf(node, options.job)
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort(new Negative('', exitCodes.INTERRUPTED))
  process.once('SIGINT', interrupt)
  try {
    const result = await node.verify({
      ...{ from, to, jobId, lateAfterMs, limit, signal: interrupted.signal },
      onPart: ({ checked, ...soFar }) => out.progress(`${count(checked)}; ${foundIn(soFar)} findings so far`),
    })
    out.progress(null)
    out.document(result)
    show(context, options, result)
    if (result.verdict === 'FOUND') throw new Negative()
  } finally {
    out.progress(null)
    process.off('SIGINT', interrupt)
  }
}

function show(context: Context, options: Pick<VerifyOptions, 'to'>, result: VerifyResult): void {
  const { out } = context
  const { verdict, missed, doubled, stuck, wrong, lost, open, late, pending, outsideHistory, findings } = result
  if (options.to !== undefined && Date.parse(options.to) > Date.parse(result.to)) {
    out.note(`${absolute(options.to)} is still to come: verified up to now, ${absolute(result.to)}.`)
  }
  out.line(`Due from ${absolute(result.from)} to ${absolute(result.to)}: ${count(result.checked)}`)
  out.line()
  const row = (name: string, text: string, bad = false) => out.line(`  ${name.padEnd(9)} ${bad ? red(text) : text}`)
  const red = (text: string) => out.style('red', text)
  row('missing', String(missed), missed > 0)
  row('too many', String(doubled), doubled > 0)
  row('stuck', String(stuck), stuck > 0)
  row('wrong', String(wrong), wrong > 0)
  row('lost', lostText(lost), lost.submissions + lost.commits.length > 0)
  row('late', late.count === 0 ? '0' : `${late.count}, the worst by ${duration(late.worstMs)}`)
  row('skipped', reasons(result.skipped))
  if (pending > 0) row('pending', `${pending}, about to fire`)
  if (open > 0) row('open', `${open} have not ended yet`)
  if (findings.length > 0) {
    out.line()
    if (!out.json) out.table(findings, columns, '')
    const all = missed + doubled + stuck + wrong
    if (all > findings.length) out.note(`There are more: --limit ${all}`)
  }
  showLost(context, lost)
  out.line()
  if (outsideHistory.before !== null) {
    out.line(`Outside history: nothing is kept of what was due before ${absolute(outsideHistory.before)}.`)
  }
  if (outsideHistory.jobs > 0) {
    out.line(
      `Outside history: ${jobs(outsideHistory.jobs)} changed before changes were kept, or with a schedule that cannot be ` +
        'computed any more. Of a part of the time, nothing can be said of them.',
    )
  }
  if (verdict === 'CLEAN')
    out.line(out.style('green', 'Clean: everything is accounted for, nothing twice, nothing stuck.'))
  if (verdict === 'OUTSIDE_HISTORY') out.line('Nothing was found in the rest.')
  for (const hint of hints(findings)) out.line(`${out.style('dim', '->')} ${hint}`)
}

function showLost({ out }: Context, { minutes, commits }: VerifyResult['lost']): void {
  if (minutes.length + commits.length > 0) out.line()
  for (const { after, until } of commits) {
    out.line(`The database lost what was committed between ${absolute(after)} and ${absolute(until)}.`)
  }
  for (const { minute, acknowledged, kept } of minutes) {
    out.line(`${absolute(minute)}: ${acknowledged} submissions were acknowledged, the ledger has ${kept}.`)
  }
}

function lostText({ submissions, commits }: VerifyResult['lost']): string {
  const times = commits.length === 0 ? '' : `, and commits ${commits.length === 1 ? 'once' : `${commits.length} times`}`
  return `${submissions}${submissions > 0 ? ' acknowledged submissions' : ''}${times}`
}

function foundIn({ missed, doubled, stuck, wrong, lost }: Omit<VerifyResult, 'checked'>): number {
  return missed + doubled + stuck + wrong + lost.submissions
}

const kinds: Record<Finding['kind'], string> = {
  MISSED: 'missing',
  DOUBLED: 'too many',
  STUCK: 'stuck',
  WRONG: 'wrong',
}

const columns: Column<Finding>[] = [
  { header: 'WHAT', value: ({ kind }) => kinds[kind] },
  { header: 'WHY', value: ({ why }) => whys[why] },
  { header: 'SCHEDULED FOR', value: ({ scheduledFor }) => scheduledFor },
  { header: 'JOB', value: ({ jobId }) => jobId },
  { header: 'EXECUTION', value: ({ executionId }) => executionId, dispensable: 1 },
]

const whys: Record<Finding['why'], string> = {
  NO_ROW: 'no row',
  OVERDUE: 'not fired yet',
  ROW_GONE: 'row is gone',
  NO_SCHEDULE: 'never fires',
  WRONG_ID: 'another id',
  NOT_SCHEDULED: 'no occurrence',
  PAUSED: 'was paused',
  SAME_FENCE: 'same lease',
  NO_HOLDER: 'in no queue',
  ATTEMPT_OVERDUE: 'past its timeout',
  WORKER_LOST: 'worker is lost',
  RETRY_OVERDUE: 'retry was due',
  START_OVERDUE: 'start window over',
  DEADLINE_PASSED: 'past its deadline',
  WAITS_FOR_NOTHING: 'waits for nothing',
  NOT_FIRED: 'not taken up',
  SKIP_REASON: 'skip reason',
  SKIP_COUNT: 'skip count',
  SKIP_COVERS_RUN: 'skip of what ran',
  STATE: 'state',
  TIMES: 'times',
  ATTEMPTS: 'attempts',
  VERSION: 'version',
  JOB_GONE: 'job is gone',
}

function hints(findings: readonly Finding[]): string[] {
  const of = (kind: Finding['kind'], but?: Finding['why']) =>
    findings.some((finding) => finding.kind === kind && finding.why !== but)
  const any = (why: Finding['why']) => findings.some((finding) => finding.why === why)
  return [
    ...(any('NO_ROW') ? ['What is missing can be run: carillon jobs backfill <job> --from <time> --to <time>'] : []),
    ...(any('OVERDUE') || any('NO_SCHEDULE')
      ? ['Occurrences that have not fired are still in the schedules: carillon doctor says what blocks them']
      : []),
    ...(of('DOUBLED') ? ['What is too many may have run twice: carillon executions get <execution>'] : []),
    ...(of('STUCK', 'NO_HOLDER')
      ? ['What is stuck says why: carillon executions explain <execution>, carillon doctor']
      : []),
    ...(of('WRONG') || any('NO_HOLDER') || any('ROW_GONE')
      ? ['Carillon does not write such rows: look who else writes to its tables, or what was restored']
      : []),
  ]
}

function count({ jobs: number, occurrences }: VerifyResult['checked']): string {
  return `${occurrences} occurrences of ${jobs(number)}`
}

function jobs(number: number): string {
  return `${number} job${number === 1 ? '' : 's'}`
}

function reasons(skipped: Record<string, number>): string {
  const parts = Object.entries(skipped).map(([reason, number]) => `${number} ${reason}`)
  return parts.length === 0 ? '0' : parts.join(', ')
}
