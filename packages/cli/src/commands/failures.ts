import { systemClock } from '@carillon/sdk'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { instantArgument, relative } from '../times.ts'

/** `carillon failures`: what failed, by job. */
export function registerFailures(program: Command): void {
  const time = instantArgument(() => systemClock.now())
  program
    .command('failures')
    .description('what failed, by job: dead letters, and what is to be tried again')
    .option(
      '--from <time>',
      'scheduled from then on: ISO 8601, or before now such as 24h; 7 days ago unless given',
      time,
    )
    .option('--to <time>', 'scheduled before then', time)
    .action(act(failures))
}

async function failures({ node, out, now }: Context, query: { from?: string; to?: string }): Promise<void> {
  const answer = await node.call('listFailures', { query })
  out.document(answer)
  if (out.json) return
  out.table(
    answer.items,
    [
      { header: 'JOB', value: (item) => item.key ?? item.name ?? item.jobId ?? '(submissions)', flexible: true },
      { header: 'HANDLER', value: (item) => item.handler, flexible: true },
      { header: 'DEAD', value: (item) => item.dead, align: 'right' },
      { header: 'RETRYING', value: (item) => item.retrying, align: 'right' },
      { header: 'ATTEMPTS', value: (item) => item.failed, align: 'right', dispensable: 1 },
      { header: 'LAST', value: (item) => relative(Date.parse(item.lastFailedAt), now()) },
      {
        header: 'ERROR',
        value: ({ lastError }) => lastError && `${lastError.name}: ${lastError.message}`,
        flexible: true,
      },
    ],
    'Nothing failed.',
  )
  if (!answer.complete) out.note('More failed than was looked at: give a shorter time with --from and --to.')
}
