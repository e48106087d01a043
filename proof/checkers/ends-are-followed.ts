/**
 * Jobs that run after other jobs: docs/schedules.md, a second time. An end while the follower was being created, or while the job that it
 * follows was being deleted, may count or not.
 */
import type { Checker, Finding, Follower, LedgerRow } from '../history.ts'
import { isReturn, isWhole } from './leases.ts'
import { livesOf } from './step-lives.ts'

/** From the time that a change is recorded with until its rows are there. */
const changeMs = 10_000

export const endsAreFollowed: Checker = {
  name: 'ends-are-followed',
  promise: 'Each end of an execution is followed once by every job that runs after it, and by no other.',
  check({ executions, followers, spans }) {
    const deletedAt = new Map(
      spans.filter(({ state }) => state === 'DELETED').map(({ jobId, since }) => [jobId, since]),
    )
    const byJob = Map.groupBy(executions, ({ jobId }) => jobId)
    return followers.flatMap((follower) => {
      const rows = (byJob.get(follower.jobId) ?? []).filter(isFollowing)
      const following = Map.groupBy(rows, (row) => row.transitions[0]!.after!)
      const followed = byJob.get(follower.followed) ?? []
      const deleted = deletedAt.get(follower.followed) ?? Number.POSITIVE_INFINITY
      const known = new Set(followed.map(({ executionId }) => executionId))
      return [
        ...followed
          .filter(isWhole)
          .flatMap((row) => problemOf({ ...follower, until: deleted }, row, following.get(row.executionId) ?? [])),
        ...rows
          .filter(({ transitions: [first] }) => !known.has(first!.after!))
          .map(({ executionId: subject, transitions: [first] }): Finding => {
            return { subject, problem: `follows ${first!.after}, which is none of ${follower.followed}` }
          }),
      ]
    })
  },
}

function isFollowing({ transitions: [first] }: LedgerRow): boolean {
  return first !== undefined && first.after !== null
}

/** `until`: when the job that it follows was deleted. */
function problemOf(follower: Follower & { until: number }, row: LedgerRow, following: LedgerRow[]): Finding[] {
  const { since, until } = follower
  const ends = endsOf(row).filter(({ at, state }) => isMeant(follower, state) && at < until + changeMs)
  const isCertain = ({ at, isAtBirth }: End) => at > since + changeMs && at < until - changeMs && !isAtBirth
  const certain = ends.filter(isCertain).length
  if (following.length >= certain && following.length <= ends.length) return []
  const wanted = certain === ends.length ? certain : `${certain} to ${ends.length}`
  return [
    { subject: row.executionId, problem: `is followed by ${follower.jobId} ${following.length} times, not ${wanted}` },
  ]
}

interface End {
  at: number
  state: string
  /** Cancelled by the one that replaced it before it began to wait: nothing follows that. */
  isAtBirth: boolean
}

/** But for skips: what did not run has no followers. */
function endsOf(row: LedgerRow): End[] {
  const returns = row.transitions.filter(isReturn)
  return livesOf(row).flatMap(({ endedAt, state }, n): End[] => {
    if (endedAt === null || state === 'SKIPPED' || returns[n]?.reason === 'BACKFILLED') return []
    // It had to fail to be replayed.
    return [{ at: endedAt, state: state ?? 'FAILED', isAtBirth: endedAt === row.firedAt }]
  })
}

function isMeant({ on }: Follower, state: string): boolean {
  return on === 'ENDED' || on === (state === 'SUCCEEDED' ? 'SUCCEEDED' : 'FAILED')
}
