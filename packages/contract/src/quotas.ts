/** What the operator may bound of a declared tenant. */
import { type Range, ranges } from './ranges.ts'

export const quotaNames = [
  ...(['maxJobs', 'submissionsPerSec', 'maxPools', 'maxWorkers'] as const),
  ...(['maxIdempotencyKeys', 'maxEventStreams'] as const),
] as const
export type QuotaName = (typeof quotaNames)[number]

/** Null: none. */
export type Quotas = Record<QuotaName, number | null>

export function quotaRange(quota: QuotaName): Range {
  return quota === 'submissionsPerSec' ? ranges.submissionsPerSec : ranges.quota
}
