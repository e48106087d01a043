/** Whether a job could be created, found out without a node: for those who check a file of jobs before they send it. */
import { CarillonError, type ErrorDetail, limits, type WireJobInput } from '@carillon/contract'
import { JobInput } from '@carillon/contract/api'
import { checker } from '../http/validation.ts'
import { defineJob, firstOccurrence } from '../jobs/define.ts'

const checkShape = checker(JobInput, 'body')
const anyId = '00000000-0000-7000-8000-000000000000'

/**
 * Everything that is wrong with a job, or nothing. Whether its pool exists and its target is allowed only a node knows.
 *
 * @example
 * ```ts
 * import { checkJob } from '@carillon/server/administration'
 *
 * const input = { type: 'CRON', schedule: '61 * * * *', target: { handler: 'greet' } }
 * for (const { pointer, message } of checkJob(input, Date.UTC(2030, 0, 1))) console.log(pointer, message)
 * ```
 */
export function checkJob(input: unknown, now: number): readonly ErrorDetail[] {
  try {
    checkShape(input)
    const job = input as WireJobInput
    const payload = job.payload === undefined ? null : JSON.stringify(job.payload)
    firstOccurrence(defineJob(job, { jobId: anyId, tenant: 'default', payload, now }), now)
    if (payload !== null && Buffer.byteLength(payload) > limits.payloadBytes)
      return [{ pointer: '/payload', message: 'is larger than 256 KiB', hint: 'Pass a reference to the data' }]
    return []
  } catch (error) {
    if (error instanceof CarillonError) return error.errors
    throw error
  }
}
