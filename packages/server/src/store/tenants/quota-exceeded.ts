/** What a tenant is told that would exceed a quota. Functions of SQL say the same by SQLSTATE CA002, with the quota in the detail. */
import { CarillonError, type QuotaName } from '@carillon/contract'
import { codeOf } from '../trouble.ts'

export interface Refusal {
  quota: QuotaName
  limit: number
  /** When there will be room. Left out: when something ends, which nobody knows. */
  retryAfterMs?: number
}

/** Of what is freed only when something ends: asked for more often, the answer will be the same. */
const retryMs = 30_000

const words: Record<QuotaName, { may: string; hint: string }> = {
  maxJobs: { may: 'have # jobs at rest', hint: 'Delete jobs that are not needed' },
  submissionsPerSec: { may: 'submit # items per second', hint: 'Wait for the seconds in Retry-After' },
  maxPools: { may: 'have # pools', hint: 'Delete pools that nothing uses' },
  maxWorkers: { may: 'have # workers', hint: 'Stop workers that are not needed' },
  maxIdempotencyKeys: {
    may: 'have # Idempotency-Keys remembered',
    hint: 'Send requests without one, or wait: a key is kept for 24 hours',
  },
  maxEventStreams: { may: 'have # streams open at a node', hint: 'Close some; one stream carries all events' },
}

export function quotaExceeded({ quota, limit, retryAfterMs = retryMs }: Refusal): CarillonError {
  const { may, hint } = words[quota]
  const details = {
    message: `${quota}: the tenant may ${may.replace('#', String(limit))}`,
    hint: `${hint}, or ask the operator to raise ${quota}`,
  }
  return new CarillonError('QUOTA_EXCEEDED', details, { retryAfterMs })
}

/** What a function of SQL has refused; null: it failed for another reason. Of other drivers' errors too. */
export function refusalOf(error: unknown): Refusal | null {
  if (codeOf(error) !== 'CA002') return null
  const { detail } = error as { detail?: unknown }
  return typeof detail === 'string' ? (JSON.parse(detail) as Refusal) : null
}
