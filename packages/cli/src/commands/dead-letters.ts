import type { Command } from 'commander'
import { type BulkOptions, bulk } from '../bulk.ts'
import { act, type Context } from '../context.ts'
import { addFilterOptions, type FilterOptions, filterOf, queryOf } from '../execution-filter.ts'
import { limitOption, list } from '../pages.ts'
import { executionColumns } from '../views.ts'

/** `carillon dead-letters …`: what used up its attempts or can never succeed. */
export function registerDeadLetters(program: Command): void {
  const letters = program.command('dead-letters').description('dead letters: list, replay, purge')
  addFilterOptions(letters.command('list'), { state: false })
    .description('dead letters, newest first')
    .option(...limitOption)
    .action(act(listLetters))
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

function register(
  letters: Command,
  verb: string,
  does: string,
  how: { operation: 'replayDeadLetters' | 'purgeDeadLetters'; done: string },
): void {
  addFilterOptions(letters.command(verb), { state: false })
    .description(does)
    .option('--all', 'every one of them')
    .option('--rate <per second>', 'the most a second', Number)
    .option('--dry-run', 'only count')
    .option('-y, --yes', 'do not ask')
    .action(
      act(async (context: Context, options: FilterOptions & BulkOptions & { all?: boolean }) => {
        const filter = (await filterOf(context.node, options)) ?? (options.all ? {} : null)
        await bulk(context, { ...how, filter, options, verb })
      }),
    )
}
