import { type Static, Type } from 'typebox'
import { ExecutionError } from './execution.ts'
import { Count, closed, Described, Instant, Nullable, Text, Uuid } from './scalars.ts'

export const DeadLetterGroups = Type.Object(
  {
    groups: Type.Array(
      Type.Object(
        {
          error: Nullable(
            Text(
              'The name of the error, which the filter `error` takes; null: they ended without one, for which the filter takes an empty text.',
            ),
          ),
          reason: Text('Why they are dead, as a stable word, which the filter `reason` takes.', {
            examples: ['ATTEMPTS_USED_UP'],
          }),
          message: Nullable(Text('The message of the newest of them.')),
          count: Count('Dead letters.'),
          jobs: Count('Different jobs; submissions count as one.'),
          handlers: Type.Array(Type.String(), { description: 'Their handlers, at most 10.' }),
          firstAt: Described(Instant, 'When the oldest became one.'),
          lastAt: Described(Instant, 'When the newest became one.'),
          newest: Described(Uuid, 'The newest of them.'),
        },
        closed,
      ),
      { description: 'The largest first, at most 1,000.' },
    ),
    complete: Type.Boolean({ description: 'False: there are more dead letters, or groups, than were counted.' }),
  },
  { ...closed, title: 'DeadLetterGroups', description: 'Dead letters by the error they ended with.' },
)
export type DeadLetterGroups = Static<typeof DeadLetterGroups>

export const JobFailures = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          jobId: Nullable(Described(Uuid, 'The job; null: submissions of this handler.')),
          key: Nullable(Text('Its key.')),
          name: Nullable(Text('Its name, if it is known.')),
          handler: Text('Its handler.'),
          dead: Count('Executions that became dead letters.'),
          retrying: Count('Executions that have failed and are to be tried again.'),
          failed: Count('Attempts of these that did not succeed. What succeeded at a later attempt is not counted.'),
          lastFailedAt: Described(Instant, 'When one of these last failed.'),
          lastError: Nullable(Described(ExecutionError, 'What it failed with.')),
          newest: Described(Uuid, 'The execution that last failed.'),
        },
        closed,
      ),
      { description: 'The most dead letters first, then the most failed attempts; at most 1,000.' },
    ),
    complete: Type.Boolean({ description: 'False: more failed than was looked at.' }),
  },
  { ...closed, title: 'JobFailures', description: 'What failed, by job.' },
)
export type JobFailures = Static<typeof JobFailures>
