/**
 * What must be true of any history, however an installation was disturbed. Each checker is a pure function of the history
 * and keeps one promise; none of them knows how Carillon works inside. That no scheduled occurrence is missing is judged
 * beside them by the installation's own `verify`, which knows the schedules.
 */
import type { Checker, History, Violation } from '../history.ts'
import { acknowledgedIsKept } from './acknowledged-is-kept.ts'
import { atMostOnceStartsOnce } from './at-most-once-starts-once.ts'
import { attemptsWithinMaximum } from './attempts-within-maximum.ts'
import { endsAreFollowed } from './ends-are-followed.ts'
import { everythingEnds } from './everything-ends.ts'
import { fanOutsAreComplete } from './fan-outs-are-complete.ts'
import { fencesOnlyGrow } from './fences-only-grow.ts'
import { firesFromTheCurrentVersion } from './fires-from-the-current-version.ts'
import { forbidNeverOverlaps } from './forbid-never-overlaps.ts'
import { latenessWhileHealthy } from './lateness-while-healthy.ts'
import { limitsAreKept } from './limits-are-kept.ts'
import { lostIsNoticed } from './lost-is-noticed.ts'
import { neverEarly } from './never-early.ts'
import { nobodyStarves } from './nobody-starves.ts'
import { oneLeaseAtATime } from './one-lease-at-a-time.ts'
import { runsEndTheirExecutions } from './runs-end-their-executions.ts'
import { runsFollowTheirSteps } from './runs-follow-their-steps.ts'
import { signalsEndSteps } from './signals-end-steps.ts'
import { skipsHaveReasons } from './skips-have-reasons.ts'
import { slotsAreKept } from './slots-are-kept.ts'
import { stepsAreGivenResults } from './steps-are-given-results.ts'
import { stepsSucceedOnce } from './steps-succeed-once.ts'
import { stepsWait } from './steps-wait.ts'
import { succeedsOnce } from './succeeds-once.ts'
import { successWasRun } from './success-was-run.ts'
import { whatRanIsNotHandedBack } from './what-ran-is-not-handed-back.ts'

export const checkers: Checker[] = [
  acknowledgedIsKept,
  succeedsOnce,
  successWasRun,
  whatRanIsNotHandedBack,
  atMostOnceStartsOnce,
  oneLeaseAtATime,
  fencesOnlyGrow,
  attemptsWithinMaximum,
  forbidNeverOverlaps,
  limitsAreKept,
  firesFromTheCurrentVersion,
  neverEarly,
  skipsHaveReasons,
  nobodyStarves,
  latenessWhileHealthy,
  lostIsNoticed,
  stepsWait,
  stepsAreGivenResults,
  stepsSucceedOnce,
  runsFollowTheirSteps,
  fanOutsAreComplete,
  slotsAreKept,
  runsEndTheirExecutions,
  signalsEndSteps,
  endsAreFollowed,
  everythingEnds,
]

export function judge(history: History): Violation[] {
  return checkers.flatMap(({ name, check }) => check(history).map((finding) => ({ checker: name, ...finding })))
}
