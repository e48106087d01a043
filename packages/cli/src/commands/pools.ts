import type { Pool } from '@carillon/contract'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { limitOption, list } from '../pages.ts'
import { printable } from '../table.ts'
import { duration } from '../times.ts'

/** `carillon pools …` */
export function registerPools(program: Command): void {
  const pools = program.command('pools').description('pools: list, create, delete, pause, resume, scaling')
  pools
    .command('list')
    .description('pools')
    .option(...limitOption)
    .action(act(listPools))
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
