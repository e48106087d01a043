import { Type } from 'typebox'
import { defaults } from '../defaults.ts'
import { ranges } from '../ranges.ts'
import { backoffs } from '../words.ts'
import { Amount, closed, Integer, Name, Word } from './scalars.ts'

const { retryPolicy } = defaults

export const RetryPolicy = Type.Object(
  {
    maxAttempts: Type.Optional(
      Integer(ranges.maxAttempts, {
        default: retryPolicy.maxAttempts,
        description: 'Attempts in all; the first one counts.',
      }),
    ),
    backoff: Type.Optional(
      Word(backoffs, {
        default: retryPolicy.backoff,
        description: 'How the delay grows from one attempt to the next.',
      }),
    ),
    initialDelayMs: Type.Optional(
      Integer(ranges.initialDelayMs, {
        default: retryPolicy.initialDelayMs,
        description: 'Milliseconds before the second attempt.',
      }),
    ),
    factor: Type.Optional(
      Amount(ranges.factor, {
        default: retryPolicy.factor,
        description: 'EXPONENTIAL: each delay is this many times the one before.',
      }),
    ),
    maxDelayMs: Type.Optional(
      Integer(ranges.maxDelayMs, { default: retryPolicy.maxDelayMs, description: 'No delay is longer than this.' }),
    ),
    jitter: Type.Optional(
      Amount(ranges.jitter, {
        default: retryPolicy.jitter,
        description: 'Share of the delay, 0 to 1, of which a random part is added.',
      }),
    ),
    delaysMs: Type.Optional(
      Type.Array(Integer(ranges.delaysMs), {
        maxItems: 1_000,
        description: 'Explicit delays, used instead of `backoff`; the last one repeats.',
      }),
    ),
    nonRetryableErrors: Type.Optional(
      Type.Array(Name, { maxItems: 100, description: 'Names of errors that end the execution at once.' }),
    ),
  },
  { ...closed, title: 'RetryPolicy', description: 'How failed attempts are repeated.' },
)
