/** Which node sweeps, and how often that changes, makes no difference to when a lost worker is noticed. */
import type { Checker } from '../history.ts'

export const lostIsNoticed: Checker = {
  name: 'lost-is-noticed',
  promise: 'What a worker held that is not heard of any more is taken over in time, however often the watcher changes.',
  check({ silenced, leases, bounds, to }) {
    return silenced.flatMap(({ workerId, at }) =>
      (leases ?? [])
        .filter((lease) => lease.workerId === workerId && (lease.until ?? Math.max(to, at)) - at > bounds.lostMs)
        .map(({ executionId, until }) => ({
          subject: executionId,
          problem:
            `was held by ${workerId}, silent since ${at}, ` +
            `${until === null ? 'and still is' : `for ${until - at} ms`}; at most ${bounds.lostMs} ms are promised`,
        })),
    )
  },
}
