import { type Command, InvalidArgumentError } from 'commander'
import { act, type Context } from '../context.ts'
import { addDatabaseOptions, type DatabaseOptions, databasePlace } from '../database-options.ts'
import { limitOption, list } from '../pages.ts'
import { when } from '../times.ts'

/** `carillon audit …` */
export function registerAudit(program: Command): void {
  const audit = program.command('audit').description('who did what: list, and how long that is kept')
  audit
    .command('list')
    .description('entries, newest first')
    .option('--action <action>', 'such as job.deleted')
    .option('--subject <id>', 'of one job, execution, pool or key')
    .option('--installation', 'entries that belong to no tenant; needs a platform token')
    .option(...limitOption)
    .action(act(listAudit))
  addDatabaseOptions(audit.command('retention [days]'))
    .description('show how long entries are kept, or set it as the owner of the schema: days, or "forever"')
    .action(act(retention))
}

interface ListOptions {
  limit: number
  action?: string
  subject?: string
  installation?: boolean
}

async function listAudit({ node, out, now }: Context, { limit, ...filter }: ListOptions): Promise<void> {
  const { items, more } = await list(limit, (page) => node.call('listAudit', { query: { ...filter, ...page } }))
  out.table(
    items,
    [
      { header: 'WHEN', value: (entry) => when(entry.at, now()) },
      { header: 'ACTOR', value: (entry) => entry.actor, flexible: true },
      { header: 'ACTION', value: (entry) => entry.action },
      { header: 'SUBJECT', value: (entry) => entry.subject ?? '', flexible: true },
      { header: 'DETAIL', value: (entry) => JSON.stringify(entry.detail ?? null), flexible: true },
    ],
    'No entries.',
  )
  if (more) out.note(`There are more: --limit ${limit * 10}`)
}

async function retention(context: Context, options: DatabaseOptions, given?: string): Promise<void> {
  const { out } = context
  const { auditRetention, keepAudit } = await import('@carillon/server/administration')
  const place = databasePlace(context, options)
  if (given !== undefined) await keepAudit(place, daysOf(given))
  const days = await auditRetention(place)
  out.document({ days })
  out.line(days === null ? 'The audit is kept for good.' : `The audit is kept for ${days} days.`)
}

function daysOf(given: string): number | null {
  if (given === 'forever') return null
  const days = Number(given)
  if (Number.isInteger(days) && days >= 1 && days <= 1_000_000) return days
  throw new InvalidArgumentError('Give a whole number of days, or "forever".')
}
