import type { Usage, UsageFigures } from '@carillon/contract'
import { systemClock } from '@carillon/sdk'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { limitOption, list } from '../pages.ts'
import type { Column } from '../table.ts'
import { printable } from '../table.ts'
import { absolute, duration, instantArgument } from '../times.ts'

const example = '\nExample:\n  $ carillon tenants usage acme --from 2030-01-01 --to 2030-02-01 --json'

/** `carillon usage`: what the caller's own tenant used. */
export function registerUsage(program: Command): void {
  ranged(program.command('usage').description('what your tenant used, by day'))
    .option('--by-pool', 'also by pool')
    .action(act((context: Context, query: PoolQuery) => context.node.call('getUsage', { query }).then(shown(context))))
}

/** `carillon tenants usage`: what one tenant used by day, or each of all in a range, for the operator. */
export function registerTenantUsage(tenants: Command): void {
  ranged(tenants.command('usage [name]').description('what a tenant used, by day; or each tenant, without a name'))
    .option('--by-pool', 'also by pool')
    .option(...limitOption)
    .addHelpText('after', example)
    .action(act(usage))
}

interface RangeQuery {
  from?: string
  to?: string
}

interface PoolQuery extends RangeQuery {
  byPool?: boolean
}

function ranged(command: Command): Command {
  const time = instantArgument(() => systemClock.now())
  return command
    .option(
      '--from <time>',
      'since the day of then: a date, ISO 8601, or a time before now such as 90d; 30 days unless given',
      time,
    )
    .option('--to <time>', 'until then; now unless given', time)
}

async function usage(
  context: Context,
  { limit, byPool, ...query }: PoolQuery & { limit: number },
  name?: string,
): Promise<void> {
  const { node, out } = context
  if (name !== undefined) {
    const answer = await node.call('getTenantUsage', { params: { tenant: name }, query: { ...query, byPool } })
    return shown(context)(answer)
  }
  const { items, more } = await list(limit, (page) => node.call('listUsage', { query: { ...query, ...page } }))
  out.table(
    items,
    [
      { header: 'TENANT', value: ({ tenant }) => tenant, flexible: true },
      ...columns(({ total }: (typeof items)[0]) => total),
    ],
    'No tenant used anything in that time.',
  )
  if (more) out.note(`There are more: --limit ${limit * 10}`)
}

function shown({ out }: Context): (usage: Usage) => void {
  return (usage) => {
    out.document(usage)
    if (out.json) return
    const { tenant, from, to, until, total, days } = usage
    out.line(`${printable(tenant)}: ${absolute(from)} to ${absolute(to)}, counted until ${absolute(until)}`)
    const rows: Row[] = days.flatMap(({ day, pools = [], ...figures }) => [
      { name: day, ...figures },
      ...pools.map(({ pool, ...ofPool }) => ({ name: `  ${pool}`, ...ofPool })),
    ])
    if (days.length > 1) rows.push({ name: 'in all', ...total })
    const first = { header: 'DAY', value: ({ name }: Row) => name, flexible: true }
    out.table(rows, [first, ...columns((row: Row) => row)], 'Nothing ended in that time.')
  }
}

type Row = UsageFigures & { name: string }

function columns<Row>(of: (row: Row) => UsageFigures): Column<Row>[] {
  return [
    { header: 'ENDED', value: (row) => of(row).ended, align: 'right' },
    { header: 'DEAD', value: (row) => of(row).dead, align: 'right' },
    { header: 'ATTEMPTS', value: (row) => of(row).attempts, align: 'right' },
    { header: 'FAILED', value: (row) => of(row).failed, align: 'right' },
    { header: 'RUN TIME', value: (row) => duration(of(row).runMs), align: 'right' },
  ]
}
