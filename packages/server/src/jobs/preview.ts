/** When a job fires next, or would fire if it were created. Pure: the time is an argument. */
import {
  dayFieldPolicies,
  defaults,
  dstGaps,
  dstOverlaps,
  limits,
  type Timed,
  type Fires as WireFires,
  type PreviewInput as WirePreviewInput,
} from '@carillon/contract'
import { jitterOffsetMs } from '../domain/schedule/jitter.ts'
import { instantOfLocal, parseLocalTime } from '../domain/schedule/local-time.ts'
import { missedWhilePaused } from '../domain/schedule/misfire.ts'
import {
  type ClockChange,
  clockChanges,
  type Fire,
  fireAt,
  fires,
  preview,
  type RecurringSpec,
} from '../domain/schedule/preview.ts'
import { upcoming } from '../domain/schedule/schedule.ts'
import { boundsOf, recurringSpecOf, scheduleOf } from '../store/job-schedule.ts'
import type { JobRecord } from '../store/rows.ts'
import { Problems } from './validate.ts'

type Instant = string | number | Date

/** As the API takes it, but the type follows from the field; instants in any form. */
export type PreviewInput = Omit<
  Timed<WirePreviewInput, 'runAt' | 'anchor' | 'startAt' | 'endAt' | 'after', Instant>,
  'type' | 'after'
> & { after: Instant }

export type FireView = Timed<WireFires['fires'][number], 'scheduledFor' | 'dueAt', Date>
export type ClockChangeView = Timed<WireFires['clockChanges'][number], 'at', Date>

export interface Fires extends Pick<WireFires, 'timezone'> {
  fires: FireView[]
  /** The changes of the clock among these fires that touch the schedule. */
  clockChanges: ClockChangeView[]
}

/**
 * The times a schedule would fire.
 *
 * @example
 * ```ts
 * import { previewFires } from '@carillon/server/administration'
 *
 * const { fires } = previewFires({ schedule: '30 2 * * *', timezone: 'Europe/Berlin', after: '2027-03-27T12:00:00Z' })
 * console.log(fires[0]?.local, fires[0]?.dst) // 2027-03-28T03:30:00+02:00 SHIFTED
 * ```
 */
export function previewFires(input: PreviewInput): Fires {
  const problems = new Problems()
  const { schedule, interval, timezone = defaults.timezone } = input
  if ([schedule, interval, input.runAt].filter((given) => given !== undefined).length !== 1) {
    problems.add(
      '/schedule',
      'schedule, interval or runAt is required',
      'Give exactly one of schedule, interval and runAt',
    )
  }
  if (input.dayFields !== undefined && schedule === undefined) problems.add('/dayFields', 'dayFields belongs to a cron')
  problems.oneOf('/dayFields', input.dayFields, dayFieldPolicies)
  if (input.anchor !== undefined && interval === undefined) problems.add('/anchor', 'anchor belongs to an interval')
  problems.text('/timezone', timezone, limits.nameLength)
  if (problems.object('/dst', input.dst)) {
    problems.oneOf('/dst/gap', input.dst.gap, dstGaps)
    problems.oneOf('/dst/overlap', input.dst.overlap, dstOverlaps)
  }
  problems.integer('/count', input.count, { min: 1, max: 1_000 })
  const after = problems.instant('/after', input.after)
  const anchor = problems.instant('/anchor', input.anchor) ?? after
  const wall = problems.localTime('/runAt', input.runAt, input.timezone)
  const runAt = wall === null ? problems.instant('/runAt', input.runAt) : null
  const bounds = {
    startAt: problems.instant('/startAt', input.startAt),
    endAt: problems.instant('/endAt', input.endAt),
  }
  problems.throwIfAny()
  const dst = { ...defaults.dst, ...input.dst }
  if (input.runAt !== undefined) {
    const at = wall === null ? runAt! : instantOfLocal(wall, timezone, dst)
    return { timezone, fires: [viewOf(fireAt(at, timezone, wall), 0)], clockChanges: [] }
  }
  const spec: RecurringSpec =
    interval === undefined
      ? { type: 'CRON', expression: schedule!, timezone, dst, dayFields: input.dayFields ?? defaults.dayFields }
      : { type: 'INTERVAL', interval, anchor: anchor!, timezone, dst }
  const shown = preview(spec, bounds, after!, input.count ?? 10)
  return {
    timezone,
    fires: shown.fires.map((fire) => viewOf(fire, 0)),
    clockChanges: shown.clockChanges.map(changeView),
  }
}

/** The next times of a job; of a paused one, those that it would fire at if it were resumed now. */
export function nextFiresOf(job: JobRecord, now: number, count: number): Fires {
  const { definition } = job
  const jitterMs = jitterOffsetMs(definition.jobId, definition.jitterSec)
  const left = definition.maxFires === null ? count : Math.min(count, definition.maxFires - job.fires)
  const first = firstOf(job, now, jitterMs)
  const { timezone } = definition
  if (first === null || left <= 0) return { timezone, fires: [], clockChanges: [] }
  const spec = recurringSpecOf(definition)
  if (spec === null) {
    const wall = definition.runAtLocal === null ? null : parseLocalTime(definition.runAtLocal)
    return { timezone, fires: [viewOf(fireAt(first, timezone, wall), jitterMs)], clockChanges: [] }
  }
  // One that waits to be fired comes first; what else has passed is no fire to come.
  const from = Math.max(first, Math.floor(now) - jitterMs)
  const more = upcoming(scheduleOf(definition, null), boundsOf(definition), from, left - 1)
  return {
    timezone,
    fires: fires(spec, [first, ...more]).map((fire) => viewOf(fire, jitterMs)),
    clockChanges: clockChanges(spec, first - 1, more.at(-1) ?? first).map(changeView),
  }
}

function firstOf({ state, definition, nominal }: JobRecord, now: number, jitterMs: number): number | null {
  if (nominal === null || state === 'ACTIVE') return nominal
  if (state !== 'PAUSED') return null
  return missedWhilePaused(scheduleOf(definition, nominal), boundsOf(definition), nominal, now, jitterMs).next
}

function changeView(change: ClockChange): ClockChangeView {
  return { ...change, at: new Date(change.at) }
}

function viewOf({ scheduledFor, local, dst }: Fire, jitterMs: number): FireView {
  return { scheduledFor: new Date(scheduledFor), dueAt: new Date(scheduledFor + jitterMs), local, dst }
}
