import type { QuarantinedRow } from '@carillon/contract'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { Negative } from '../failure.ts'
import { limitOption, list } from '../pages.ts'
import { when } from '../times.ts'

/** `carillon quarantine …`: rows that cannot be processed. */
export function registerQuarantine(program: Command): void {
  const quarantine = program
    .command('quarantine')
    .description('quarantined rows, which cannot be processed: list, release, discard')
  quarantine
    .command('list')
    .description('rows in quarantine, newest first')
    .option('--source <table>', 'only those of this table, such as submissions')
    .option(...limitOption)
    .action(act(listRows))
  register(quarantine, 'release', 'put a row back into its table, once the cause is fixed', {
    operation: 'releaseQuarantined',
    done: 'Released',
  })
  register(quarantine, 'discard', 'give a row up; its execution ends as DEAD', {
    operation: 'discardQuarantined',
    done: 'Discarded',
  })
}

interface How {
  operation: 'releaseQuarantined' | 'discardQuarantined'
  done: string
}

function register(quarantine: Command, verb: string, does: string, how: How): void {
  quarantine
    .command(`${verb} <row>`)
    .description(`${does}; by its number, or by the id of its execution, job or operation`)
    .action(
      act(async (context: Context, _, row: string) => {
        for (const quarantineId of await numbersOf(context, row)) {
          const entry = await context.node.call(how.operation, { params: { quarantineId } })
          context.out.document(entry)
          context.out.line(`${how.done} ${quarantineId} (${entry.source}, ${entry.code})`)
        }
      }),
    )
}

async function numbersOf({ node }: Context, row: string): Promise<string[]> {
  if (/^\d+$/.test(row)) return [row]
  const { items } = await node.call('listQuarantined', { query: { about: row, limit: 100 } })
  if (items.length === 0) throw new Negative('Nothing in quarantine is about it: see carillon quarantine list')
  return items.map(({ quarantineId }) => String(quarantineId))
}

async function listRows(
  { node, out, now }: Context,
  options: { limit: number; source?: QuarantinedRow['source'] },
): Promise<void> {
  const { source, limit } = options
  const { items, more } = await list(limit, (page) =>
    node.call('listQuarantined', { query: { ...page, ...(source && { source }) } }),
  )
  out.table(
    items,
    [
      { header: 'NUMBER', value: (row) => row.quarantineId, align: 'right' },
      { header: 'SOURCE', value: (row) => row.source },
      { header: 'ABOUT', value: (row) => row.executionId ?? row.jobId ?? Object.values(row.key).join(' ') },
      { header: 'TENANT', value: (row) => row.tenant ?? '-', flexible: true },
      { header: 'CODE', value: (row) => row.code },
      { header: 'SINCE', value: (row) => when(row.at, now()) },
      { header: 'ERROR', value: (row) => row.message, flexible: true },
    ],
    'Nothing is in quarantine.',
  )
  if (more) out.note(`There are more: --limit ${limit * 10}`)
}
