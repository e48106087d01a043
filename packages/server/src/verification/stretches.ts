/**
 * What a job's schedule should have done, stretch by stretch, from what the job was over time.
 *
 * The schedule row is a position that only moves forward: FIRE moves it from one occurrence to a later one and writes a row for
 * everything between. So whatever one definition has between the positions where it began and ended is on
 * record, whatever the policies made of it; and nothing from the present position on is. A change moves the position as well, and
 * says from where to where (job_spans). What had passed by then it put on record too, but for what was never to be recorded.
 */
import { jitterOffsetMs } from '../domain/schedule/jitter.ts'
import { nextWithin, type Schedule, type ScheduleBounds } from '../domain/schedule/schedule.ts'
import { boundsOf, scheduleOf } from '../store/job-schedule.ts'
import type { FireDefinition } from '../store/jobs/definition.ts'
import type { KnownSpan, VerifiedJob } from '../store/verification/read-jobs.ts'

/**
 * RECORDED: each has a row. UNRECORDED: none has, and rightly so, for `reason`. UPCOMING: still to fire.
 */
export type StretchKind = 'RECORDED' | 'UNRECORDED' | 'UPCOMING'

/** Occurrences of one definition from `from` on and before `before`, by nominal time. */
export interface Stretch {
  kind: StretchKind
  version: number
  definition: FireDefinition
  schedule: Schedule
  bounds: ScheduleBounds
  jitterMs: number
  from: number
  before: number
  /** Nothing fires here: its rows are SKIPPED. */
  paused: boolean
  /** A change of the job removed them: their rows are SKIPPED, EDITED, or PAUSED if it was. */
  edited: boolean
  reason: 'PAUSED' | 'DELETED' | null
}

export interface Stretches {
  /** In the order of time. */
  stretches: Stretch[]
  /** Before this time the job existed, but its definition is unknown. Null: all is known. */
  unknownBefore: number | null
  /** Whether a row at this time, by nominal time, can be judged: the schedule has passed it. */
  passedBefore: number
}

export function stretchesOf(job: VerifiedJob): Stretches {
  const now: KnownSpan = {
    ...{ version: job.version, state: job.state, since: job.updatedAt, until: Infinity, computedAt: Infinity },
    ...{ stood: job.nominal, stands: null },
  }
  const spans = [...job.spans, now]
  const first = spans[0]!
  const stretches: Stretch[] = []
  let start: number | null = null
  spans.forEach((span, i) => {
    const definition = job.definitions.get(span.version)
    const lives = span.state === 'ACTIVE' || span.state === 'PAUSED'
    if (definition && lives) {
      const stretch = stretchOf(definition, span)
      const from = i === 0 ? nextWithin(stretch.schedule, stretch.bounds, span.since) : start
      const next = spans[i + 1]
      // An edit may bring it nearer: it had not come to anything from there on.
      const before = Math.min(span.stood ?? endUnsaid(definition, span, from ?? 0), span.stands ?? Infinity)
      if (from !== null) stretches.push({ ...stretch, from, before })
      stretches.push(...(next ? passedBy(stretch, span, next) : upcoming(stretch, span)))
    }
    start = span.stands
  })
  return {
    stretches: stretches.filter(({ from, before }) => from < before),
    unknownBefore: first.since === job.createdAt ? null : first.since,
    passedBefore: job.nominal ?? Infinity,
  }
}

function stretchOf(definition: FireDefinition, { version, state, stood }: KnownSpan): Stretch {
  return {
    ...{
      kind: 'RECORDED',
      version,
      definition,
      schedule: scheduleOf(definition, stood ?? 0),
      bounds: boundsOf(definition),
    },
    jitterMs: jitterOffsetMs(definition.jobId, definition.jitterSec),
    ...{ from: 0, before: 0, paused: state === 'PAUSED', edited: false, reason: null },
  }
}

/** A last fire that does not say where the schedule ended: up to its time, unless it ended for having fired often enough. */
function endUnsaid({ maxFires, jobId, jitterSec }: FireDefinition, { until }: KnownSpan, from: number): number {
  return maxFires === null && Number.isFinite(until) ? until - jitterOffsetMs(jobId, jitterSec) + 1 : from
}

/** What the change that ended a span did with the occurrences its schedule had not dealt with. */
function passedBy(stretch: Stretch, span: KnownSpan, next: KnownSpan): Stretch[] {
  const { stood, stands, computedAt } = span
  // It stays where it is: the next span goes on from there.
  if (stood === null || stands === stood) return []
  const due = computedAt - stretch.jitterMs + 1
  const edited = next.version !== span.version
  if (span.state === 'PAUSED') {
    const before = edited ? computedAt + 1 : due
    const kept = stands !== null && stands >= stood ? stands : Infinity
    return [{ ...stretch, edited, from: stood, before: Math.min(before, kept) }]
  }
  if (next.state === 'DELETED') {
    return [{ ...stretch, kind: 'UNRECORDED', reason: 'DELETED', from: stood, before: due }]
  }
  // Otherwise the tz database has changed, or it was the last fire: nothing had passed.
  return edited ? [{ ...stretch, edited, from: stood, before: computedAt + 1 }] : []
}

/** From the present position of the schedule on. */
function upcoming(stretch: Stretch, { stood, state }: KnownSpan): Stretch[] {
  if (stood === null) return []
  const rest = { ...stretch, from: stood, before: Infinity }
  return [state === 'PAUSED' ? { ...rest, kind: 'UNRECORDED', reason: 'PAUSED' } : { ...rest, kind: 'UPCOMING' }]
}
