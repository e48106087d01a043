/** Changes of a part of a job, as merge patches (RFC 7396) of the definition as it was asked for. */
import { type JobInput, type JobPatch, JsonText } from '@carillon/contract'
import { encodeJson } from '@carillon/sdk'
import { isExactNumber, readExactly } from '../lib/exact-json.ts'
import type { JobDefinition } from '../store/jobs/definition.ts'
import { priorityOf } from '../store/rows.ts'
import type { RequestedDefinition } from './jobs.ts'
import { targetOf } from './target.ts'

/** The definition of a job as one would ask for it, but for its payload. */
export function inputOf(job: JobDefinition): JobInput {
  const { retryPolicy, timeoutSec, heartbeatTimeoutSec, delivery, cancelGraceSec, unknownHandlerSec, limits, ...rest } =
    job.policy ?? {}
  return given({
    name: job.name,
    key: job.key,
    managedBy: job.managedBy,
    type: job.type,
    // A local time is one together with its zone: if that is changed, it is another instant.
    runAt: job.runAtLocal ?? job.runAt,
    delayMs: job.delayMs,
    after: job.after,
    schedule: job.schedule,
    interval: job.interval,
    anchor: job.anchor,
    timezone: job.timezone,
    dst: job.dst,
    dayFields: job.type === 'CRON' ? job.dayFields : null,
    startAt: job.startAt,
    endAt: job.endAt,
    maxFires: job.maxFires,
    jitterSec: rest.jitterBy === 'TENANT' ? null : job.jitterSec,
    misfire: job.misfire,
    misfireAfterSec: job.misfireAfterSec,
    maxCatchUp: job.maxCatchUp,
    graceSec: job.graceSec,
    overlap: job.overlap,
    pauseAfterFailures: rest.pauseAfterFailures,
    priority: priorityOf(job.lane),
    ...{ retryPolicy, timeoutSec, heartbeatTimeoutSec, delivery, cancelGraceSec, unknownHandlerSec, limits },
    startWithinSec: job.startWithinSec,
    deadlineSec: job.deadlineSec,
    labels: job.labels,
    target: targetOf(job, rest.target),
  }) as unknown as JobInput
}

/** What a job would be asked for as after the patch. A payload that the patch leaves alone stays to the letter. */
export function patched(job: JobDefinition, { payload, ...patch }: JobPatch): RequestedDefinition {
  const before = inputOf(job) as object
  // With another type the time of the old one goes: it is about that time only.
  const base = patch.type === undefined || patch.type === job.type ? before : without(before, timeFields)
  return { input: merged(base, patch) as JobInput, payload: patchedPayload(job.payload, payload) }
}

const timeFields = new Set(['runAt', 'delayMs', 'schedule', 'interval', 'anchor', 'dayFields', 'after'])

function patchedPayload(before: string | null, patch: unknown): string | null {
  if (patch === undefined) return before
  if (patch === null) return null
  // What the patch does not name stays to the letter too, numbers that JavaScript would round included.
  const change = readExactly(encodeJson(patch, 'payload'))
  const after = merged(before === null ? null : readExactly(before), change)
  return encodeJson(new JsonText(JSON.stringify(after)), 'payload')
}

/** RFC 7396. Entries are only ever copied, so that no name in a patch means more than itself. */
export function merged(before: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const entries = new Map(isObject(before) ? Object.entries(before) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) entries.delete(name)
    else entries.set(name, merged(entries.get(name), value))
  }
  return Object.fromEntries(entries)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
}

function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))
}

function without(fields: object, names: ReadonlySet<string>): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)))
}
