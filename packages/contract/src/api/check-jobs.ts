import { Type } from 'typebox'
import { NewJobInput } from '../schemas/job.ts'
import { closed, Name } from '../schemas/scalars.ts'
import { operation } from './operation.ts'

const most = 10_000

const CheckedJobs = Type.Object(
  {
    errors: Type.Array(
      Type.Object(
        {
          pointer: Type.String({ description: 'Where in the request, such as `/jobs/0/schedule`.' }),
          message: Type.String({ description: 'What is wrong.' }),
          hint: Type.Optional(Type.String({ description: 'What to do about it.' })),
        },
        closed,
      ),
      { description: 'Everything that is wrong; empty: all of it could be created.' },
    ),
  },
  { ...closed, title: 'CheckedJobs', description: 'What would become of each job.' },
)

export const checkOperations = {
  checkJobs: operation({
    method: 'POST',
    path: '/v1/jobs/check',
    heavy: true,
    bodyLimitBytes: 16 * 1024 * 1024,
    tag: 'Jobs',
    scope: 'jobs:write',
    summary: 'Find everything that is wrong with definitions, without creating anything',
    description:
      'What creating them would refuse, all at once: fields, schedules, zones, pools, limits, graphs and jobs to follow that do not exist, ' +
      'targets that the operator does not allow. A job may follow another one of the list, by its key.',
    body: Type.Object(
      {
        jobs: Type.Array(NewJobInput, { minItems: 0, maxItems: most, description: 'The definitions.' }),
        pools: Type.Optional(
          Type.Array(Name, { maxItems: most, description: 'Pools that will be created before the jobs.' }),
        ),
        limits: Type.Optional(
          Type.Array(Name, { maxItems: most, description: 'Limits that will be declared before the jobs.' }),
        ),
        dags: Type.Optional(
          Type.Array(Name, { maxItems: most, description: 'Keys of graphs that will be created before the jobs.' }),
        ),
      },
      { ...closed, title: 'CheckJobsInput', description: 'Definitions to check.' },
    ),
    roughBody: Type.Object(
      {
        jobs: Type.Array(Type.Unknown(), { maxItems: most }),
        pools: Type.Optional(Type.Array(Type.Unknown(), { maxItems: most })),
        limits: Type.Optional(Type.Array(Type.Unknown(), { maxItems: most })),
        dags: Type.Optional(Type.Array(Type.Unknown(), { maxItems: most })),
      },
      closed,
    ),
    answers: { 200: { description: 'What is wrong', schema: CheckedJobs } },
    errors: [],
  }),
}
