import type { Finding } from '@carillon/contract'
import { systemClock, type VerifyResult } from '@carillon/sdk'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { exitCodes, Negative, UsageError } from '../failure.ts'
import { jobIdOf } from '../job-reference.ts'
import { wholeNumber } from '../pages.ts'
import type { Column } from '../table.ts'
import { absolute, duration, instantArgument, parseSpan } from '../times.ts'

/** `carillon verify`: did everything happen that should have, and nothing twice? */
export function registerVerify(program: Command): void {
  const time = instantArgument(() => systemClock.now())
  program
    .command('verify')
    .description(
      'did everything fire that should have, and nothing twice? exit code 1 if something is missing or double',
    )
    .requiredOption('--from <time>', 'what was due from then on: ISO 8601, or before now such as 24h', time)
    .option('--to <time>', 'and before then; now unless given', time)
    .option('--job <job>', 'only this one: its id or key')
    .option('--late-after <span>', 'fired later than that is late', parseSpan, 1_000)
    .option('--limit <count>', 'list so many findings; all are counted', wholeNumber(0), 50)
    .addHelpText(
      'after',
      `
It computes again from the schedules, as they were at the time, which occurrences should exist, and looks for each in
the ledger. With a platform token it verifies one tenant at a time: --tenant.

Examples:
  $ carillon verify --from 24h
  $ carillon verify --from 2030-01-01 --to 2030-02-01 --job nightly`,
    )
    .action(act(verify))
}

interface VerifyOptions {
  from: string
  to?: string
  job?: string
  lateAfter: number
  limit: number
}

async function verify(context: Context, options: VerifyOptions): Promise<void> {
  const { node, out } = context
  const { from, to, lateAfter: lateAfterMs, limit } = options
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
      onPart: ({ checked, missed, doubled }) =>
        out.progress(`${count(checked)}; ${missed} missing, ${doubled} too many so far`),
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

function show(context: Context, options: VerifyOptions, result: VerifyResult): void {
  const { out } = context
  const { verdict, missed, doubled, late, pending, outsideHistory, findings } = result
  if (options.to !== undefined && Date.parse(options.to) > Date.parse(result.to)) {
    out.note(`${absolute(options.to)} is still to come: verified up to now, ${absolute(result.to)}.`)
  }
  out.line(`Due from ${absolute(result.from)} to ${absolute(result.to)}: ${count(result.checked)}`)
  out.line()
  const row = (name: string, text: string, bad = false) => out.line(`  ${name.padEnd(9)} ${bad ? red(text) : text}`)
  const red = (text: string) => out.style('red', text)
  row('missing', String(missed), missed > 0)
  row('too many', String(doubled), doubled > 0)
  row('late', late.count === 0 ? '0' : `${late.count}, the worst by ${duration(late.worstMs)}`)
  row('skipped', reasons(result.skipped))
  if (pending > 0) row('pending', `${pending}, about to fire`)
  if (findings.length > 0) {
    out.line()
    if (!out.json) out.table(findings, columns, '')
    if (missed + doubled > findings.length) out.note(`There are more: --limit ${missed + doubled}`)
  }
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
  if (verdict === 'CLEAN') out.line(out.style('green', 'Clean: every occurrence is accounted for, none of them twice.'))
  if (verdict === 'OUTSIDE_HISTORY') out.line('Nothing was found in the rest.')
  for (const hint of hints(findings)) out.line(`${out.style('dim', '->')} ${hint}`)
}

const columns: Column<Finding>[] = [
  { header: 'WHAT', value: ({ kind }) => (kind === 'MISSED' ? 'missing' : 'too many') },
  { header: 'WHY', value: ({ why }) => whys[why] },
  { header: 'SCHEDULED FOR', value: ({ scheduledFor }) => scheduledFor },
  { header: 'JOB', value: ({ jobId }) => jobId },
  { header: 'EXECUTION', value: ({ executionId }) => executionId, dispensable: 1 },
]

const whys: Record<Finding['why'], string> = {
  NO_ROW: 'no row',
  OVERDUE: 'not fired yet',
  WRONG_ID: 'another id',
  NOT_SCHEDULED: 'no occurrence',
  PAUSED: 'was paused',
}

function hints(findings: readonly Finding[]): string[] {
  const any = (why: Finding['why']) => findings.some((finding) => finding.why === why)
  return [
    ...(any('NO_ROW') ? ['What is missing can be run: carillon jobs backfill <job> --from <time> --to <time>'] : []),
    ...(any('OVERDUE')
      ? ['What has not fired yet stands in the schedules: carillon doctor says what is in its way']
      : []),
    ...(any('WRONG_ID') || any('NOT_SCHEDULED') || any('PAUSED')
      ? ['What is too many may have run twice: carillon executions get <execution>']
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
