/** Plans what FIRE does with a due schedule row. Pure: row, job and time are arguments. */
import { jitterOffsetMs } from '../domain/schedule/jitter.ts'
import { type FirePlan, planFire } from '../domain/schedule/misfire.ts'
import { boundsOf, executionIdOf, scheduleOf } from '../store/job-schedule.ts'
import type { Move, Occurrence } from '../store/schedules/fire.ts'
import type { DueSchedule } from '../store/schedules/read-due.ts'

export interface PlannedFire {
  move: Move
  /** Without tags: those are reserved for what fires. */
  occurrences: Occurrence[]
}

export function planSchedule(row: DueSchedule, now: number): PlannedFire {
  const { job } = row
  const jitterMs = jitterOffsetMs(row.jobId, job.jitterSec)
  const plan = planFire({
    schedule: scheduleOf(job, row.nominal),
    bounds: boundsOf(job),
    nominal: row.nominal,
    jitterMs,
    now,
    misfire: job.misfire,
    misfireAfterSec: job.misfireAfterSec,
    maxCatchUp: job.maxCatchUp,
    graceSec: job.graceSec,
    firesLeft: job.maxFires === null ? null : job.maxFires - row.fires,
  })
  const occurrence = (nominal: number, skip: Occurrence['skip']): Occurrence => ({
    jobId: row.jobId,
    executionId: executionIdOf(job, nominal),
    nominal,
    due: nominal + jitterMs,
    tag: 0,
    skip,
  })
  return {
    move: {
      jobId: row.jobId,
      version: row.version,
      due: row.due,
      nextNominal: plan.next ?? endOf(plan, row.nominal),
      nextDue: plan.next === null ? null : plan.next + jitterMs,
      fires: plan.fire.length,
    },
    occurrences: [
      ...plan.skips.map(({ first, last, count, reason }) => occurrence(first, { reason, last, count })),
      ...plan.fire.map(({ nominal }) => occurrence(nominal, null)),
    ],
  }
}

/** What lies before this has been dealt with, when nothing comes after it. */
function endOf({ fire, skips }: FirePlan, nominal: number): number {
  const last = Math.max(fire.at(-1)?.nominal ?? 0, skips.at(-1)?.last ?? 0)
  return last === 0 ? nominal : last + 1
}
