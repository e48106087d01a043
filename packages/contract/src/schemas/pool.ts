import { type Static, Type } from 'typebox'
import { priorities } from '../words.ts'
import { Count, closed, Nullable, Text, Word } from './scalars.ts'

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

const depth = {
  ready: Count('Executions that could start; of each lane counted up to 10,000.'),
  running: Count('Executions held by workers.'),
  retrying: Count('Executions that wait for their next attempt; 100,000 of the installation are looked at.'),
  oldestReadyMs: Nullable(Type.Number({ description: 'Milliseconds that the first in line has waited.' })),
}

export const Load = Type.Object(
  {
    pools: Type.Array(
      Type.Object(
        {
          ...Pool.properties,
          ...depth,
          lanes: Type.Array(
            Type.Object(
              { priority: Word(priorities, { description: 'The lane.' }), ...depth },
              { ...closed, description: 'What waits and runs in one lane.' },
            ),
            { description: 'The highest lane first; empty ones are left out.' },
          ),
        },
        { ...closed, description: 'A pool, and what waits and runs in it.' },
      ),
      { description: 'By name, at most 100.' },
    ),
    complete: Type.Boolean({ description: 'False: there are more pools.' }),
  },
  { ...closed, title: 'Load', description: 'What waits and runs, by pool and lane.' },
)
export type Load = Static<typeof Load>
