import type { Spread, Stats, StatsFigures } from '@carillon/contract'
import { systemClock } from '@carillon/sdk'
import { type Command, Option } from 'commander'
import { act, type Context } from '../context.ts'
import type { Output } from '../output.ts'
import { absolute, duration, instantArgument } from '../times.ts'

/** `carillon stats`: what happened, in figures. */
export function registerStats(program: Command): void {
  const time = instantArgument(() => systemClock.now())
  program
    .command('stats')
    .description('what happened, by minute or by hour: rates, lateness, failures, durations')
    .addOption(new Option('--step <step>', 'how long a row is').choices(['minute', 'hour']).default('minute'))
    .option(
      '--from <time>',
      'since then: ISO 8601, or a time before now such as 6h; an hour, or a day by hour, unless given',
      time,
    )
    .option('--to <time>', 'until then; now unless given', time)
    .option('--pool <name>', 'only this pool')
    .option('--handler <name>', 'only this handler')
    .addHelpText('after', '\nExample:\n  $ carillon stats --step hour --from 7d --handler send-invoice')
    .action(act(stats))
}

interface StatsOptions {
  step: 'minute' | 'hour'
  from?: string
  to?: string
  pool?: string
  handler?: string
}

async function stats({ node, out }: Context, { step, ...query }: StatsOptions): Promise<void> {
  const answer = await node.call('getStats', { query: { ...query, step: step === 'hour' ? 'HOUR' : 'MINUTE' } })
  out.document(answer)
  if (out.json) return
  const { total, buckets, handlers, from, to, until } = answer
  out.line(`${absolute(from)} to ${absolute(to)}, counted until ${absolute(until)}`)
  if (buckets.length === 0) return out.note('Nothing happened in that time.')
  out.line(summary(total))
  out.line()
  table(out, buckets, 'FROM', ({ at }) => absolute(at))
  out.line()
  table(out, handlers, 'HANDLER', ({ handler }) => handler)
}

function summary({ created, succeeded, failed, dead, onTime, lateness }: Stats['total']): string {
  const scheduled = lateness.count
  const share = scheduled === 0 ? '' : `, ${((onTime / scheduled) * 100).toFixed(2)} % of ${scheduled} fires on time`
  return `${created} created, ${succeeded} succeeded, ${failed} attempts failed, ${dead} dead${share}`
}

function table<Row extends StatsFigures>(
  out: Output,
  rows: readonly Row[],
  head: string,
  name: (row: Row) => string,
): void {
  out.table(
    rows,
    [
      { header: head, value: name, flexible: true },
      { header: 'CREATED', value: (row) => row.created, align: 'right' },
      { header: 'STARTED', value: (row) => row.started, align: 'right' },
      { header: 'SUCCEEDED', value: (row) => row.succeeded, align: 'right' },
      { header: 'FAILED', value: (row) => row.failed, align: 'right' },
      { header: 'DEAD', value: (row) => row.dead, align: 'right' },
      { header: 'LATE P99', value: (row) => p99(row.lateness), align: 'right', dispensable: 2 },
      { header: 'PICK-UP P99', value: (row) => p99(row.pickUp), align: 'right', dispensable: 1 },
      { header: 'RUN P50', value: (row) => length(row.duration.p50Ms), align: 'right', dispensable: 3 },
      { header: 'RUN P99', value: (row) => p99(row.duration), align: 'right' },
    ],
    'Nothing.',
  )
}

function p99({ p99Ms }: Spread): string {
  return length(p99Ms)
}

function length(ms: number | null): string {
  return ms === null ? '-' : duration(ms)
}
