/** Everything that is wrong with a definition by itself: its fields and, as far as they can be read, what they mean. */
import { CarillonError, type ErrorDetail, limits, type WireJobInput } from '@carillon/contract'
import { JobInput } from '@carillon/contract/api'
import { zoneNamed } from '../domain/schedule/zone.ts'
import { defineJob, firstOccurrence } from '../jobs/define.ts'
import { previewFires } from '../jobs/preview.ts'
import { checker } from './validation.ts'

const checkShape = checker(JobInput, 'body')
const anyId = '00000000-0000-7000-8000-000000000000'

export function definitionProblems(input: unknown, now: number): ErrorDetail[] {
  const shape = problemsOf(() => checkShape(input))
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return shape
  const job = input as WireJobInput
  const found = [...shape]
  // Of a field that was found wrong, the first thing said is enough.
  const add = (details: ErrorDetail[]) => {
    for (const detail of details) if (!found.some(({ pointer }) => pointer === detail.pointer)) found.push(detail)
  }
  const { type, schedule, interval, timezone } = job
  const bare = (check: () => unknown) => add(problemsOf(check, { forgiving: true }))
  if (typeof timezone === 'string') bare(() => zoneNamed(timezone))
  if (type === 'CRON' && typeof schedule === 'string') bare(() => previewFires({ schedule, after: now, count: 1 }))
  if (type === 'INTERVAL' && typeof interval === 'string') bare(() => previewFires({ interval, after: now, count: 1 }))
  const payload = job.payload === undefined ? null : JSON.stringify(job.payload)
  const define = () => firstOccurrence(defineJob(job, { jobId: anyId, tenant: 'default', payload, now }), now)
  add(problemsOf(define, { forgiving: shape.length > 0 }))
  if (payload !== null && Buffer.byteLength(payload) > limits.payloadBytes)
    add([{ pointer: '/payload', message: 'payload is larger than 256 KiB', hint: 'Pass a reference to the data' }])
  return found
}

/** `forgiving`: what was refused already may be of any shape, and break the check. */
function problemsOf(check: () => unknown, { forgiving = false } = {}): ErrorDetail[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof CarillonError) return [...error.errors]
    if (forgiving) return []
    throw error
  }
}
