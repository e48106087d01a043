/** What an operator asks about the whole: which nodes there are, what fails, what is to come, what verification found. */
import { Type } from 'typebox'
import { JobFailures } from '../schemas/failures.ts'
import { Forecast } from '../schemas/forecast.ts'
import { NodeList } from '../schemas/node.ts'
import { closed, Described, Instant, Name, Word } from '../schemas/scalars.ts'
import { statsSteps } from '../schemas/stats.ts'
import { Verified } from '../schemas/verification.ts'
import { operation } from './operation.ts'

export const answerOperations = {
  listNodes: operation({
    method: 'GET',
    path: '/v1/nodes',
    tag: 'Installation',
    scope: 'jobs:read',
    summary: 'List the nodes, and how leadership stands',
    description: 'Of the whole installation. Every node says every 10 seconds how it is.',
    query: Type.Object({}, closed),
    answers: { 200: { description: 'The nodes', schema: NodeList } },
    errors: [],
  }),
  getForecast: operation({
    method: 'GET',
    path: '/v1/forecast',
    tag: 'Jobs',
    scope: 'jobs:read',
    summary: 'What will fire, and where it collides',
    description:
      'The coming fires of all active jobs of the tenant, as their previews have them: by minute for 24 hours or by hour for 30 days; the ' +
      'load that means for each pool, from durations of late; and the seconds in which the most jobs fire together. It is computed in the ' +
      'background and kept for about a minute: `computedAt` says how old it is. The first question waits for it up to 5 seconds, and is ' +
      'answered UNAVAILABLE if that was not enough: ask again.',
    query: Type.Object(
      {
        from: Type.Optional(Described(Instant, 'From the bucket of this on; now, if left out or earlier.')),
        to: Type.Optional(
          Described(Instant, 'Up to the bucket of this; 24 hours or 30 days from now unless given, and no later.'),
        ),
        step: Type.Optional(Word(statsSteps, { default: 'HOUR', description: 'How long a bucket is.' })),
        pool: Type.Optional(Described(Name, 'Only fires for this pool; collisions are those of all.')),
      },
      closed,
    ),
    answers: { 200: { description: 'The forecast', schema: Forecast } },
    errors: ['TIME_OUT_OF_RANGE'],
  }),
  getVerified: operation({
    method: 'GET',
    path: '/v1/verified',
    tag: 'Installation',
    scope: 'jobs:read',
    summary: 'What continuous verification has found',
    description:
      'Of the whole installation: what the background comparison of the ledger with the schedules has found, in all and hour by hour. ' +
      'An hour has what was compared up to its end; what is stuck counts in the hour in which that was found.',
    query: Type.Object({}, closed),
    answers: { 200: { description: 'What was found', schema: Verified } },
    errors: [],
  }),
  listFailures: operation({
    method: 'GET',
    path: '/v1/failures',
    heavy: true,
    tag: 'Executions',
    scope: 'jobs:read',
    summary: 'What failed, by job',
    description:
      'Dead letters with a `scheduledFor` in this time, and what of it has failed and is to be tried again. The newest 100,000 dead ' +
      'letters are looked at, and the newest 10,000 retries.',
    query: Type.Object(
      {
        from: Type.Optional(Described(Instant, 'Scheduled at or after this; 7 days ago unless given.')),
        to: Type.Optional(Described(Instant, 'Scheduled before this.')),
      },
      closed,
    ),
    answers: { 200: { description: 'What failed', schema: JobFailures } },
    errors: [],
  }),
}
