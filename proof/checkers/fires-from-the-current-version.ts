/**
 * A change is dated when its statement began. A FIRE that had the row before it may be dated later, by as long as a
 * statement may wait for another; beyond that a replaced or paused version fires nothing. The other way round there is no
 * such leave: whoever fires a version has read it after it was written.
 */
import type { Checker, LedgerRow } from '../history.ts'

const longestWaitMs = 2_000

export const firesFromTheCurrentVersion: Checker = {
  name: 'fires-from-the-current-version',
  promise:
    'Nothing fires from a version of a job that was replaced, is not there yet, or is paused, completed or deleted.',
  check({ executions, spans }) {
    const byJob = Map.groupBy(spans, ({ jobId }) => jobId)
    return executions.filter(hasFired).flatMap((row) => {
      const own = byJob.get(row.jobId) ?? []
      const stood = own.some(
        ({ version, state, since, until }) =>
          version === row.jobVersion &&
          state === 'ACTIVE' &&
          since <= row.firedAt &&
          row.firedAt <= (until ?? Number.POSITIVE_INFINITY) + longestWaitMs,
      )
      if (stood) return []
      const then = own.findLast(({ since }) => since <= row.firedAt)
      const what = then ? `version ${then.version}, ${then.state}` : 'unknown'
      return [
        {
          subject: row.executionId,
          problem: `fired at ${row.firedAt} from version ${row.jobVersion} of ${row.jobId}, which was ${what}`,
        },
      ]
    })
  },
}

/** By its schedule: what is skipped is recorded for versions and times that no longer stand. */
function hasFired({ origin, jobVersion, state, reason }: LedgerRow): boolean {
  return origin === 'SCHEDULE' && jobVersion !== null && (state !== 'SKIPPED' || reason === 'EXPIRED')
}
