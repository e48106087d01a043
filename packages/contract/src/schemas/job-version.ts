import { type Static, Type } from 'typebox'
import { Job } from './job.ts'
import { closed, Described, Instant, Nullable, Text } from './scalars.ts'

/** What a job is asked to be, without where it stands. */
export const JobDefinition = Type.Omit(
  Job,
  [
    ...(['jobId', 'tenant', 'state', 'version', 'nextFireAt', 'nextFireLocal'] as const),
    ...(['lastExecutionId', 'lastState', 'lastRunAt', 'createdAt', 'updatedAt'] as const),
  ],
  { ...closed, title: 'JobDefinition', description: 'A definition with everything that holds, defaults filled in.' },
)

export const JobVersion = Type.Object(
  {
    version: Type.Integer({ description: 'As in the ETag; executions name the one they were fired with.' }),
    since: Nullable(Described(Instant, 'When it became the definition of the job; null if that was not recorded.')),
    until: Nullable(Described(Instant, 'When another one replaced it; null if it holds now.')),
    changedBy: Nullable(Text('The caller who asked for it, as in the audit; null if that was not recorded.')),
    definition: JobDefinition,
  },
  { ...closed, title: 'JobVersion', description: 'What a job was for a time.' },
)
export type JobVersion = Static<typeof JobVersion>
