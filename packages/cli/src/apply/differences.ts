/** What a change of a job would change, field by field. Two writings of one thing are no difference. */
import { isDeepStrictEqual } from 'node:util'
import { defaults, type Job, policyOfRuns } from '@carillon/contract'
import type { DeclaredJob } from './manifest.ts'

export interface Difference {
  field: string
  from: unknown
  to: unknown
}

type Fields = Record<string, unknown>

export function differences(wanted: DeclaredJob, job: Job): Difference[] {
  return changedFields(shownFields(job), wantedFields(wanted, job))
}

/** What `to` says otherwise than `from`, as a node shows both. */
export function changedFields(from: Fields, to: Fields): Difference[] {
  return Object.keys(to)
    .filter((field) => !isDeepStrictEqual(from[field], to[field]))
    .flatMap((field) => parts(field, from[field], to[field]))
}

/** Of a group such as retryPolicy only what differs inside it. */
function parts(field: string, from: unknown, to: unknown): Difference[] {
  const groups = ['retryPolicy', 'dst', 'target', 'labels', 'after']
  if (!groups.includes(field) || !isGroup(from) || !isGroup(to)) return [{ field, from, to }]
  return [...new Set([...Object.keys(from), ...Object.keys(to)])]
    .filter((part) => !isDeepStrictEqual(from[part], to[part]))
    .map((part) => ({ field: `${field}.${part}`, from: from[part] ?? null, to: to[part] ?? null }))
}

/** The fields of a definition as a node shows them, defaults filled in. */
function wantedFields(wanted: DeclaredJob, job: Job): Fields {
  const policy = wanted.target?.dag === undefined ? wanted : policyOfRuns(wanted)
  const { retryPolicy, dst, target, labels, payload, after, ...given } = policy
  return {
    name: wanted.key,
    schedule: null,
    interval: null,
    after: after ? { on: 'SUCCEEDED', ...after } : null,
    timezone: defaults.timezone,
    dayFields: defaults.dayFields,
    maxFires: null,
    // What the job has from its tenant, it keeps.
    jitterSec: job.jitterBy === 'TENANT' ? job.jitterSec : 0,
    misfire: defaults.misfire,
    misfireAfterSec: defaults.misfireAfterSec,
    maxCatchUp: defaults.maxCatchUp,
    graceSec: null,
    overlap: defaults.overlap,
    pauseAfterFailures: null,
    priority: defaults.priority,
    timeoutSec: defaults.timeoutSec,
    deadlineSec: null,
    heartbeatTimeoutSec: null,
    startWithinSec: null,
    cancelGraceSec: defaults.cancelGraceSec,
    unknownHandlerSec: defaults.unknownHandlerSec,
    delivery: defaults.delivery,
    limits: [],
    ...given,
    // An interval that names no anchor keeps the one it has.
    anchor: wanted.anchor === undefined ? normalInstant(job.anchor) : normalInstant(wanted.anchor),
    startAt: normalInstant(wanted.startAt),
    endAt: normalInstant(wanted.endAt),
    retryPolicy: { ...defaults.retryPolicy, ...retryPolicy },
    dst: { ...defaults.dst, ...dst },
    target: normalTarget(target),
    labels: labels ?? {},
    payload: payload ?? null,
  }
}

function shownFields(job: Job): Fields {
  return {
    ...job,
    anchor: normalInstant(job.anchor),
    startAt: normalInstant(job.startAt),
    endAt: normalInstant(job.endAt),
    retryPolicy: { ...defaults.retryPolicy, ...job.retryPolicy },
    dst: { ...defaults.dst, ...job.dst },
    target: normalTarget(job.target),
    payload: job.payload ?? null,
  }
}

function normalTarget(target: Job['target']): Job['target'] {
  return target.handler === undefined ? target : { pool: defaults.pool, ...target }
}

function normalInstant(text: string | null | undefined): string | null {
  return text == null ? null : new Date(text).toISOString()
}

function isGroup(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
