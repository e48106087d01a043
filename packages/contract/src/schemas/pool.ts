import { type Static, Type } from 'typebox'
import { Count, closed, Nullable, Text } from './scalars.ts'

export const Pool = Type.Object(
  {
    name: Text('The name of the pool.'),
    tenant: Nullable(Text('Its owner; null: the installation.')),
    paused: Type.Boolean({ description: 'True: nothing is leased from it.' }),
    workers: Count('Live workers that serve it.'),
    slots: Count('Their slots.'),
  },
  { ...closed, title: 'Pool', description: 'Where executions wait for workers.' },
)
export type Pool = Static<typeof Pool>

export const PoolScaling = Type.Object(
  {
    name: Text('The name of the pool.'),
    ready: Count('Executions that could start; counted up to 10,000.'),
    running: Count('Executions held by workers.'),
    workers: Count('Live workers.'),
    slots: Count('Their slots.'),
    oldestReadyMs: Nullable(Type.Number({ description: 'Milliseconds that the first in line has waited.' })),
    desiredSlots: Count('Slots that would hold all of ready and running.'),
  },
  { ...closed, title: 'PoolScaling', description: 'Figures of a pool for an autoscaler.' },
)
export type PoolScaling = Static<typeof PoolScaling>
