import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { Negative } from '../failure.ts'
import { duration, relative } from '../times.ts'

/** `carillon nodes`: which nodes there are, and whether every shard has a leader. */
export function registerNodes(program: Command): void {
  program
    .command('nodes')
    .description('the nodes of the installation and how they are; exit code 1 if a shard has no leader')
    .action(act(nodes))
}

async function nodes({ node, out, now }: Context): Promise<void> {
  const { nodes: items, shards } = await node.call('listNodes', {})
  out.document({ nodes: items, shards })
  if (!out.json)
    out.table(
      items,
      [
        { header: 'NAME', value: (each) => each.name, flexible: true },
        { header: 'VERSION', value: (each) => each.version, dispensable: 3 },
        { header: 'SHARDS', value: (each) => each.shards, align: 'right' },
        { header: 'WORKERS', value: (each) => each.workers, align: 'right' },
        { header: 'CPU', value: (each) => each.cpu.toFixed(2), align: 'right' },
        { header: 'LOOP', value: (each) => `${Math.round(each.eventLoop * 100)} %`, align: 'right', dispensable: 4 },
        { header: 'MEMORY', value: (each) => `${Math.round(each.memoryBytes / 2 ** 20)} MiB`, align: 'right' },
        {
          header: 'CLOCK',
          value: ({ clockOffsetMs: ms }) => (ms === null ? '-' : `${ms < 0 ? '-' : '+'}${duration(ms)}`),
          align: 'right',
        },
        { header: 'AWAY', value: (each) => each.away.join(', ') || '-' },
        { header: 'STARTED', value: (each) => relative(Date.parse(each.startedAt), now()), dispensable: 2 },
        { header: 'SEEN', value: (each) => relative(Date.parse(each.seenAt), now()), dispensable: 1 },
      ],
      'No nodes.',
    )
  out.note(`${shards.count} shards, ${shards.leaderless} without a leader.`)
  if (shards.leaderless > 0) throw new Negative()
}
