/**
 * Jitter spreads jobs with one schedule over time. The offset is a function of the job id alone: the same on every
 * node and after every restart, so an occurrence keeps its identity (its nominal time) and its due time.
 */
import crypto from 'node:crypto'
import { CarillonError } from '@carillon/contract'
import type { Schedule } from './schedule.ts'

/** Whole milliseconds, uniform over [0, jitterSec × 1000). [m] 0.7 µs. */
export function jitterOffsetMs(jobId: string, jitterSec: number): number {
  if (jitterSec <= 0) return 0
  const bits = Number.parseInt(crypto.hash('sha256', jobId, 'hex').slice(0, 12), 16)
  return Math.floor((bits / 2 ** 48) * jitterSec * 1_000)
}

/**
 * Jitter must be smaller than the period: the shortest distance between the occurrences that come after `after`, on a day
 * with a change of the clock as well.
 */
export function checkJitter(schedule: Schedule, jitterSec: number, after = 0): void {
  if (!Number.isFinite(jitterSec) || jitterSec < 0) {
    throw invalid(`${jitterSec} is not a number of seconds`, 'Give 0 (none) or the seconds to spread over')
  }
  if (jitterSec === 0) return
  const periodMs = schedule.shortestDistance(after, jitterSec * 1_000)
  if (jitterSec * 1_000 >= periodMs) {
    throw invalid(
      `a jitter of ${jitterSec} s is not smaller than the shortest distance between two occurrences, ${periodMs / 1_000} s`,
      `Use less than ${periodMs / 1_000}, or a longer period`,
    )
  }
}

/** As much of this jitter, in whole seconds, as is smaller than the period after `after`. */
export function clampedJitter(schedule: Schedule, jitterSec: number, after = 0): number {
  const periodMs = schedule.shortestDistance(after, jitterSec * 1_000)
  return jitterSec * 1_000 < periodMs ? jitterSec : Math.max(0, Math.ceil(periodMs / 1_000) - 1)
}

function invalid(message: string, hint: string): CarillonError {
  return new CarillonError('VALIDATION', { pointer: '/jitterSec', message, hint })
}
