/**
 * Whether a SKIPPED row can be true: its reason against what the job was at that time, its count against the schedule. Pure.
 *
 * FIRE and changes of a job decide about skips from what they read and put the row on record at once, so each reason leaves marks
 * that the row must have: an occurrence can be MISFIRED only if the row was written later than its policy waits, PAUSED only
 * where the job was paused, and so on. A leader plans with its own clock, which may be ahead of the database's by a little.
 */
import { countWithin, nextWithin } from '../domain/schedule/schedule.ts'
import type { FireDefinition } from '../store/jobs/definition.ts'
import type { LedgerEntry, Reach } from '../store/verification/read-occurrences.ts'
import type { Stretch } from './stretches.ts'

/** No leader's clock is further ahead: it is measured twice a second. */
const clockSlackMs = 5_000

type Skipped = Pick<LedgerEntry, 'nominal' | 'reason' | 'last' | 'version' | 'firedAt'> & { origin?: string }

/** Could `nominal`, which `row` stands for, have been skipped for that reason? */
export function mayBeSkipped(
  row: Skipped | Reach,
  nominal: number,
  { stretch, definitions }: { stretch: Stretch; definitions: ReadonlyMap<number, FireDefinition> },
): boolean {
  const { reason } = row
  if (reason === 'EXPIRED') return startsWithin(row, definitions)
  if ('origin' in row && row.origin !== 'SCHEDULE') return false
  if (reason === 'PAUSED') return stretch.paused
  if (reason === 'EDITED') return stretch.edited
  // The others are FIRE's, which does not come here.
  if (stretch.paused || stretch.edited) return false
  const { definition } = stretch
  const lateMs = row.firedAt + clockSlackMs - (nominal + stretch.jitterMs)
  const misfired = lateMs > definition.misfireAfterSec * 1_000
  switch (reason) {
    case 'OVERLAP':
      return row.last === null && (definition.overlap === 'FORBID' || definition.overlap === 'QUEUE_ONE')
    case 'GRACE_EXCEEDED':
      return definition.graceSec !== null && lateMs > definition.graceSec * 1_000
    case 'MISFIRED':
      return (
        misfired && (definition.misfire === 'SKIP' || (definition.misfire === 'FIRE_ONCE' && leaves(row, stretch, 1)))
      )
    case 'CATCH_UP_LIMIT':
      return misfired && definition.misfire === 'FIRE_ALL' && leaves(row, stretch, definition.maxCatchUp)
    default:
      return false
  }
}

/** Is the row's count the number of occurrences from its own to its last? */
export function countsRight({ nominal, last, count }: LedgerEntry, { schedule, bounds }: Stretch): boolean {
  if (last === null) return count === null || count === 1
  return last >= nominal && count === countWithin(schedule, bounds, nominal - 1, last)
}

/** What was born with a start window says so in its version of the job; what fires once is not among the jobs any more. */
function startsWithin({ version }: Skipped | Reach, definitions: ReadonlyMap<number, FireDefinition>): boolean {
  const definition = version === null ? undefined : definitions.get(version)
  return definition === undefined || definition.startWithinSec !== null
}

/** A plan fires the newest `most` misfired ones: they must come after those that were skipped. */
function leaves(
  { nominal, last, firedAt }: Skipped | Reach,
  { schedule, bounds, definition, jitterMs }: Stretch,
  most: number,
) {
  const after = last ?? nominal
  const misfiredBefore = firedAt + clockSlackMs - jitterMs - definition.misfireAfterSec * 1_000
  if (most > 1) return countWithin(schedule, bounds, after, misfiredBefore) >= most
  const next = nextWithin(schedule, bounds, after)
  return next !== null && next <= misfiredBefore
}
