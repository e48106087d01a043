import type { BulkInput } from '@carillon/contract'
import type { Command } from 'commander'
import { type BulkOptions, bulk } from '../bulk.ts'
import { act, type Context } from '../context.ts'
import { addFilterOptions, type FilterOptions, filterOf, queryOf } from '../execution-filter.ts'
import { limitOption, list } from '../pages.ts'
import { relative } from '../times.ts'
import { executionColumns } from '../views.ts'

/** `carillon dead-letters …`: what used up its attempts or can never succeed. */
export function registerDeadLetters(program: Command): void {
  const letters = program.command('dead-letters').description('dead letters: list, groups, replay, purge')
  addFilterOptions(letters.command('list'), { state: false })
    .description('dead letters, newest first')
    .option(...limitOption)
    .action(act(listLetters))
  addFilterOptions(letters.command('groups'), { state: false })
    .description('dead letters by the error they ended with, the largest group first')
    .addHelpText(
      'after',
      `
Examples:
  $ carillon dead-letters groups --from 7d
  $ carillon dead-letters replay --error TimeoutError --reason ATTEMPTS_USED_UP --rate 10    one of these groups`,
    )
    .action(act(groups))
  register(letters, 'replay', 'replay all that match', { operation: 'replayDeadLetters', done: 'replayed' })
  register(letters, 'purge', 'strike all that match off the list', { operation: 'purgeDeadLetters', done: 'purged' })
}

async function listLetters(context: Context, options: FilterOptions & { limit: number }): Promise<void> {
  const { node, out } = context
  const { state: _, ...query } = queryOf(await filterOf(node, options))
  const { items, more } = await list(options.limit, (page) =>
    node.call('listDeadLetters', { query: { ...query, ...page } }),
  )
  out.table(items, executionColumns(context), 'No dead letters.')
  if (more) out.note(`There are more: --limit ${options.limit * 10}`)
}

async function groups(context: Context, options: FilterOptions): Promise<void> {
  const { node, out, now } = context
  const { state: _, ...query } = queryOf(await filterOf(node, options))
  const answer = await node.call('groupDeadLetters', { query })
  out.document(answer)
  if (out.json) return
  out.table(
    answer.groups,
    [
      { header: 'COUNT', value: (group) => group.count, align: 'right' },
      { header: 'ERROR', value: (group) => group.error, flexible: true },
      { header: 'REASON', value: (group) => group.reason },
      { header: 'JOBS', value: (group) => group.jobs, align: 'right', dispensable: 1 },
      { header: 'HANDLERS', value: (group) => group.handlers.join(', '), flexible: true, dispensable: 2 },
      { header: 'LAST', value: (group) => relative(Date.parse(group.lastAt), now()) },
      { header: 'MESSAGE', value: (group) => group.message, flexible: true },
    ],
    'No dead letters.',
  )
  if (!answer.complete)
    out.note('There are more dead letters than were counted: narrow it down, with --from for instance.')
}

function register(
  letters: Command,
  verb: string,
  does: string,
  { operation, done }: { operation: 'replayDeadLetters' | 'purgeDeadLetters'; done: string },
): void {
  addFilterOptions(letters.command(verb), { state: false })
    .description(does)
    .option('--all', 'every one of them')
    .option('--rate <per second>', 'the most a second', Number)
    .option('--dry-run', 'only count')
    .option('-y, --yes', 'do not ask')
    .action(
      act(async (context: Context, options: FilterOptions & BulkOptions & { all?: boolean }) => {
        const { node } = context
        const filter = (await filterOf(node, options)) ?? (options.all ? {} : null)
        const ask = (body: BulkInput) => node.call(operation, { body })
        await bulk(context, { ask, filter, options, verb, done })
      }),
    )
}
