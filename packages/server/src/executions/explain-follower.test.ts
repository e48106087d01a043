import { expect, it } from 'vitest'
import type { LastEnd } from '../store/executions/read-last-end.ts'
import type { JobRecord } from '../store/rows.ts'
import { explainFollower } from './explain-follower.ts'

const job = (on: string, state = 'ACTIVE') =>
  ({ state, definition: { jobId: 'j', type: 'AFTER', after: { job: 'load', on } } }) as unknown as JobRecord
const last: LastEnd = { executionId: 'e', state: 'DEAD', finishedAt: Date.UTC(2030, 0, 15, 3) }

it('says what it follows, and when that last ended', () => {
  expect(explainFollower(job('FAILED'), { last })).toEqual({
    executionId: 'j',
    state: 'PENDING',
    reasons: [
      {
        code: 'FOLLOWS',
        message:
          'it runs each time an execution of the job load has ended as DEAD or CANCELLED; the last one, e, ended at 2030-01-15T03:00:00.000Z as DEAD',
        hint: 'see what followed it with GET /v1/executions?jobId=j',
      },
    ],
    summary: expect.stringMatching(/^A job of type AFTER: it runs each time .* as DEAD\.$/),
  })
  expect(explainFollower(job('SUCCEEDED'), { last }).reasons[0]!.hint).toContain('after.on is SUCCEEDED')
  expect(explainFollower(job('ENDED'), { last: null }).reasons[0]!.message).toContain('none has ended yet')
})

it('says why it does not run', () => {
  const { reasons } = explainFollower(job('ENDED', 'PAUSED'), null)
  expect(reasons.map(({ code }) => code)).toEqual(['JOB_PAUSED', 'FOLLOWED_GONE'])
})
