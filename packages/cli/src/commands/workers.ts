import { type WorkerRecord, workerStates } from '@carillon/contract'
import { type Command, Option } from 'commander'
import { act, type Context } from '../context.ts'
import { limitOption, list } from '../pages.ts'
import { relative } from '../times.ts'

/** `carillon workers list | get` */
export function registerWorkers(program: Command): void {
  const workers = program.command('workers').description('workers: list, get')
  workers
    .command('list')
    .description('workers that are live or suspect')
    .option('--pool <name>', 'that serve this pool')
    .addOption(new Option('--state <state>', 'in this state').choices(workerStates))
    .option(...limitOption)
    .action(act(listWorkers))
  workers.command('get <id>').description('one worker, and what it holds').action(act(getWorker))
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

async function getWorker({ node, out, now }: Context, _: unknown, workerId: string): Promise<void> {
  const worker = await node.call('getWorker', { params: { workerId } })
  const { held, complete } = worker
  const since = (at: string) => relative(Date.parse(at), now())
  out.record(worker, [
    ['worker', worker.workerId],
    ['name', worker.name],
    ['state', worker.state],
    ['tenant', worker.tenant],
    ['node', worker.nodeId],
    ['last heard', since(worker.seenAt)],
    ['since', since(worker.registeredAt)],
    ['running', String(worker.running)],
    ...worker.pools.map(({ pool, slots, handlers }): [string, string] => [
      `pool ${pool}`,
      `${slots} slots: ${handlers.join(', ')}`,
    ]),
    ...held.map(({ executionId, name, handler, attempt, began, leasedAt }): [string, string] => [
      'holds',
      `${executionId} ${name ?? handler}, attempt ${attempt}, ${began ? '' : 'not begun, '}since ${since(leasedAt)}`,
    ]),
    ...(complete ? [] : [['', 'and more'] as [string, string]]),
  ])
}
