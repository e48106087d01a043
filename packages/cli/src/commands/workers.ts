import { type WorkerRecord, workerStates } from '@carillon/contract'
import { type Command, Option } from 'commander'
import { act, type Context } from '../context.ts'
import { limitOption, list } from '../pages.ts'
import { relative } from '../times.ts'

/** `carillon workers list` */
export function registerWorkers(program: Command): void {
  const workers = program.command('workers').description('workers: list')
  workers
    .command('list')
    .description('workers that are live or suspect')
    .option('--pool <name>', 'that serve this pool')
    .addOption(new Option('--state <state>', 'in this state').choices(workerStates))
    .option(...limitOption)
    .action(act(listWorkers))
}

async function listWorkers(
  { node, out, now }: Context,
  { limit, ...query }: { limit: number; pool?: string; state?: WorkerRecord['state'] },
): Promise<void> {
  const { items, more } = await list(limit, (page) => node.call('listWorkers', { query: { ...query, ...page } }))
  out.table(
    items,
    [
      { header: 'ID', value: (worker) => worker.workerId },
      { header: 'NAME', value: (worker) => worker.name, flexible: true },
      { header: 'STATE', value: (worker) => worker.state, paint: (worker) => out.state(worker.state) },
      { header: 'POOLS', value: (worker) => worker.pools.map((pool) => pool.pool).join(', '), flexible: true },
      { header: 'RUNNING', value: (worker) => worker.running, align: 'right' },
      { header: 'LAST HEARD', value: (worker) => relative(Date.parse(worker.seenAt), now()) },
      { header: 'SINCE', value: (worker) => relative(Date.parse(worker.registeredAt), now()) },
    ],
    'No workers. Start one: carillon worker ./handlers.ts',
  )
  if (more) out.note(`There are more: --limit ${limit * 10}`)
}
