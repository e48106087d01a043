import { type Static, Type } from 'typebox'
import { Count, closed, Described, Instant, Nullable, Text, Uuid } from './scalars.ts'

export const InstallationNode = Type.Object(
  {
    nodeId: Described(Uuid, 'Another one after every start.'),
    name: Text('Its name, as it was configured.'),
    version: Text('The version of Carillon it runs.'),
    startedAt: Described(Instant, 'When it started.'),
    seenAt: Described(Instant, 'When it last said that it is there.'),
    shards: Count('Shards it leads.'),
    clockOffsetMs: Nullable(
      Type.Number({
        description: 'Milliseconds by which its clock is ahead of the database’s; null: not measured yet.',
      }),
    ),
    workers: Count('Worker sessions it has.'),
    cpu: Type.Number({ description: 'Cores that the process used of late: 1 is one core.' }),
    memoryBytes: Count('Memory of the process.'),
    eventLoop: Type.Number({ description: 'Share of the time in which its event loop was busy, 0 to 1.' }),
    away: Type.Array(Type.String(), {
      description: 'Servers of scale-out that it cannot reach.',
      examples: [['redis']],
    }),
  },
  { ...closed, title: 'InstallationNode', description: 'A node of the installation.' },
)
export type InstallationNode = Static<typeof InstallationNode>

export const NodeList = Type.Object(
  {
    nodes: Type.Array(InstallationNode, { description: 'Those that were heard of within the last minute, by name.' }),
    shards: Type.Object(
      { count: Count('Shards of the installation.'), leaderless: Count('Shards without a leader.') },
      { ...closed, description: 'How leadership stands.' },
    ),
  },
  { ...closed, title: 'NodeList', description: 'The nodes of the installation.' },
)
export type NodeList = Static<typeof NodeList>
