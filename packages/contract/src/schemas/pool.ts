import { type Static, Type } from 'typebox'
import { closed, Nullable } from './scalars.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

export const Pool = Type.Object(
  {
    name: Type.String(),
    tenant: Nullable(Type.String({ description: 'Its owner; null: the installation.' })),
    paused: Type.Boolean(),
    workers: count('Live workers that serve it.'),
    slots: count('Their slots.'),
  },
  { ...closed, title: 'Pool' },
)
export type Pool = Static<typeof Pool>

export const PoolScaling = Type.Object(
  {
    name: Type.String(),
    ready: count('Executions that could start; counted up to 10,000.'),
    running: count('Executions held by workers.'),
    workers: count('Live workers.'),
    slots: count('Their slots.'),
    oldestReadyMs: Nullable(Type.Number({ description: 'How long the first in line has waited.' })),
    desiredSlots: count('Slots that would hold all of ready and running.'),
  },
  { ...closed, title: 'PoolScaling' },
)
export type PoolScaling = Static<typeof PoolScaling>
