import type { Pool } from '@carillon/contract'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { limitOption, list } from '../pages.ts'
import { printable } from '../table.ts'
import { duration } from '../times.ts'

/** `carillon pools …` */
export function registerPools(program: Command): void {
  const pools = program.command('pools').description('pools: list, load, create, delete, pause, resume, scaling')
  pools
    .command('list')
    .description('pools')
    .option(...limitOption)
    .action(act(listPools))
  pools.command('load').description('what waits and runs, by pool and lane').action(act(load))
  pools
    .command('create <name>')
    .description('create a pool')
    .action(
      act(async ({ node, out }, _, name: string) => {
        const pool = await node.call('createPool', { body: { name } })
        out.document(pool)
        out.line(`Pool ${printable(pool.name)} is there`)
      }),
    )
  pools
    .command('delete <name>')
    .description('remove a pool that no job, execution or worker uses')
    .action(
      act(async ({ node, out }, _, name: string) => {
        await node.call('deletePool', { params: { name } })
        out.document({ name, deleted: true })
        out.line(`Pool ${printable(name)} is gone`)
      }),
    )
  registerVerb(pools, 'pause', 'lease nothing from it', 'pausePool')
  registerVerb(pools, 'resume', 'lease from it again', 'resumePool')
  pools.command('scaling <name>').description('what an autoscaler needs to know').action(act(scaling))
}

async function listPools({ node, out }: Context, options: { limit: number }): Promise<void> {
  const { items, more } = await list(options.limit, (page) => node.call('listPools', { query: page }))
  const state = (pool: Pool) => (pool.paused ? 'PAUSED' : 'ACTIVE')
  out.table(
    items,
    [
      { header: 'NAME', value: (pool) => pool.name, flexible: true },
      { header: 'STATE', value: state, paint: (pool) => out.state(state(pool)) },
      { header: 'OWNER', value: (pool) => pool.tenant ?? 'installation', flexible: true },
      { header: 'WORKERS', value: (pool) => pool.workers, align: 'right' },
      { header: 'SLOTS', value: (pool) => pool.slots, align: 'right' },
    ],
    'No pools.',
  )
  if (more) out.note(`There are more: --limit ${options.limit * 10}`)
}

async function load({ node, out }: Context): Promise<void> {
  const answer = await node.call('getLoad', {})
  if (out.json) return out.document(answer)
  const none = { priority: '', ready: 0, running: 0, retrying: 0, oldestReadyMs: null }
  const rows = answer.pools.flatMap(({ name, lanes, slots, paused }) =>
    (lanes.length === 0 ? [none] : lanes).map((lane) => ({ name, slots, paused, ...lane })),
  )
  out.table(
    rows,
    [
      { header: 'POOL', value: ({ name }) => name, flexible: true },
      { header: 'LANE', value: ({ priority }) => priority },
      { header: 'READY', value: ({ ready }) => ready, align: 'right' },
      { header: 'RUNNING', value: ({ running }) => running, align: 'right' },
      { header: 'RETRYING', value: ({ retrying }) => retrying, align: 'right' },
      { header: 'OLDEST', value: ({ oldestReadyMs: ms }) => (ms === null ? '' : duration(ms)), align: 'right' },
      { header: 'SLOTS', value: ({ slots, paused }) => (paused ? 'paused' : slots), align: 'right' },
    ],
    'No pools.',
  )
  if (!answer.complete) out.note('There are more pools than are shown')
}

function registerVerb(pools: Command, verb: string, does: string, operation: 'pausePool' | 'resumePool'): void {
  pools
    .command(`${verb} <name>`)
    .description(does)
    .action(
      act(async ({ node, out }, _, name: string) => {
        const pool = await node.call(operation, { params: { name } })
        out.document(pool)
        const state = pool.paused ? 'PAUSED' : 'ACTIVE'
        out.line(`Pool ${printable(pool.name)} is ${out.state(state)(state)}`)
      }),
    )
}

async function scaling({ node, out }: Context, _: unknown, name: string): Promise<void> {
  const figures = await node.call('scalePool', { params: { name } })
  out.record(figures, [
    ['pool', figures.name],
    ['ready', figures.ready],
    ['oldest waits', figures.oldestReadyMs === null ? null : duration(figures.oldestReadyMs)],
    ['running', figures.running],
    ['workers', figures.workers],
    ['slots', figures.slots],
    ['desired slots', figures.desiredSlots],
  ])
}
