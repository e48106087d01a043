/**
 * Governments change clocks. The version of the tz database that schedules were computed with is stored; when a node comes
 * with another, every schedule that follows a wall clock is computed again, and those that moved are reported.
 *
 * What must stay true: the occurrence that was next is still the next one, at its new time. Computing from now instead
 * would fire one again whose local time has fired already (where clocks are set back) and drop one whose new time has
 * just passed (where they are set forward).
 */
import { jitterOffsetMs } from '../domain/schedule/jitter.ts'
import { parseLocalTime } from '../domain/schedule/local-time.ts'
import { nextWithin, previousWithin, type Schedule, type ScheduleBounds } from '../domain/schedule/schedule.ts'
import { zoneNamed } from '../domain/schedule/zone.ts'
import { instantsOf } from '../domain/schedule/zone-spans.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { noteTzVersion } from '../store/installation/tz-version.ts'
import { boundsOf, scheduleOf } from '../store/job-schedule.ts'
import { changeJob } from '../store/jobs/change.ts'
import type { JobDefinition } from '../store/jobs/definition.ts'
import { readJobsAfter } from '../store/jobs/read.ts'
import { readInstallation } from '../store/partitions/manage.ts'
import { iso } from '../store/rows.ts'

const pageSize = 1_000
/** No clock is moved further than the offsets of the world differ. */
const furthestMs = 27 * 3_600_000
const firstId = '00000000-0000-0000-0000-000000000000'

export interface TzWatcherOptions {
  database: Database
  clock: Clock
  logger: Logger
  tzVersion: string
  /** Called after a commit that moved the schedules of these jobs. */
  onMoved?: (jobIds: readonly string[]) => void
}

export class TzWatcher {
  readonly #options: TzWatcherOptions

  constructor(options: TzWatcherOptions) {
    this.#options = options
  }

  async runOnce(): Promise<void> {
    const { database, logger, tzVersion } = this.#options
    const installation = await readInstallation(database)
    if (installation.tzVersion === tzVersion) return
    const moved = installation.tzVersion === null ? [] : await this.recomputeAll()
    await noteTzVersion(database, tzVersion)
    if (installation.tzVersion === null) return
    logger.warn(
      { from: installation.tzVersion, to: tzVersion, moved: moved.length },
      'the tz database changed; schedules were computed again',
    )
  }

  /** Answers the ids of the jobs that moved, each recorded in the audit. */
  async recomputeAll(): Promise<string[]> {
    const { database, clock, tzVersion } = this.#options
    const moved: string[] = []
    let after = firstId
    for (;;) {
      const page = await readJobsAfter(database, after, pageSize)
      for (const job of page) {
        const { definition, nominal } = job
        const now = clock.now()
        // What is due is due: it fires, or is a misfire, as it was computed.
        if (nominal === null || nominal <= now) continue
        const next = this.#movedTo(definition, nominal)
        if (next === undefined || next === nominal) continue
        const due = next === null ? null : next + jitterOffsetMs(definition.jobId, definition.jitterSec)
        const state = next === null ? 'COMPLETED' : job.state
        // What is shown as the time of a one-shot moves with it.
        const redefined = definition.runAtLocal === null ? null : { ...definition, runAt: iso(next ?? nominal) }
        const change = { definition: redefined, state, nominal: next, due, live: null, skipped: [] } as const
        const audit = { actor: 'tz watcher', action: 'job.moved', detail: { from: nominal, to: next, tzVersion } }
        if (!(await changeJob(database, job, { ...change, skipped: [] }, audit))) continue
        moved.push(definition.jobId)
        this.#options.onMoved?.([definition.jobId])
      }
      if (page.length < pageSize) return moved
      after = page.at(-1)!.definition.jobId
    }
  }

  /** Undefined: it cannot be computed; it is set aside when it is due. */
  #movedTo(job: JobDefinition, nominal: number): number | null | undefined {
    try {
      return movedTo(job, nominal)
    } catch (error) {
      this.#options.logger.error({ err: error, jobId: job.jobId }, 'a schedule cannot be computed again')
      return undefined
    }
  }
}

function movedTo(job: JobDefinition, nominal: number): number | null {
  if (job.runAtLocal === null) return nearestTo(nominal, scheduleOf(job, null), boundsOf(job))
  const [at] = instantsOf(zoneNamed(job.timezone), parseLocalTime(job.runAtLocal)!, job.dst)
  // A time that the clocks now jump over, under SKIP: it was asked for and accepted, so it runs when it was to run.
  return at ?? nominal
}

/** The occurrence nearest to the old one; null if there is none any more. */
function nearestTo(nominal: number, schedule: Schedule, bounds: ScheduleBounds): number | null {
  const after = nextWithin(schedule, bounds, nominal - 1)
  if (after === nominal) return nominal
  const before = previousWithin(schedule, bounds, nominal - furthestMs, nominal)
  return before !== null && (after === null || nominal - before < after - nominal) ? before : after
}
