import { systemClock } from '@carillon/sdk'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { jobIdOf } from '../job-reference.ts'
import { wholeNumber } from '../pages.ts'
import { followToEnd } from '../progress.ts'
import { instantArgument } from '../times.ts'

export function registerBackfill(jobs: Command): void {
  const time = instantArgument(() => systemClock.now())
  jobs
    .command('backfill <job>')
    .description('run the occurrences of a time that has passed, behind live work')
    .requiredOption('--from <time>', 'from then on: ISO 8601, or before now such as 7d', time)
    .requiredOption('--to <time>', 'before then; also: now', time)
    .option('--include-skipped', 'also what is recorded as SKIPPED')
    .option('--concurrency <count>', 'the most that are unfinished at once', wholeNumber(1))
    .option('--rate <per second>', 'the most a second', Number)
    .option('--dry-run', 'only count')
    .option('--no-wait', 'do not wait until it has ended')
    .addHelpText('after', '\nExample:\n  $ carillon jobs backfill nightly --from 7d --to now --dry-run')
    .action(act(backfill))
}

interface BackfillOptions {
  from: string
  to: string
  includeSkipped?: boolean
  concurrency?: number
  rate?: number
  dryRun?: boolean
  wait: boolean
}

async function backfill(context: Context, options: BackfillOptions, reference: string): Promise<void> {
  const { node, out } = context
  const { rate, wait, ...body } = options
  const jobId = await jobIdOf(node, reference)
  const answer = await node.call('backfillJob', { params: { jobId }, body: { ...body, ratePerSec: rate } })
  if ('count' in answer) {
    out.document(answer)
    out.line(`${answer.exact ? '' : 'more than '}${answer.count} would run`)
    return
  }
  if (wait) return followToEnd(context, answer, 'started')
  out.document(answer)
  out.line(`Under way: carillon operations get ${answer.operationId}`)
}
