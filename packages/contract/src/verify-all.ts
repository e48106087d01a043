/** The comparison of the ledger with the schedules, added up from the parts that a node answers. */
import type { api } from './api/index.ts'
import type { RequestOf } from './api/operation.ts'
import { checkOptions } from './options.ts'
import type { Verification } from './schemas/verification.ts'

/**
 * CLEAN: nothing is missing, there twice, stuck, lost or untrue. FOUND: something is. OUTSIDE_HISTORY: nothing was found, but of a part
 * of the time nothing is kept, so nothing can be said of it.
 */
export type VerifyVerdict = 'CLEAN' | 'FOUND' | 'OUTSIDE_HISTORY'

export type VerifyResult = Omit<Verification, 'nextCursor'> & { verdict: VerifyVerdict }

export interface VerifyOptions {
  /** What was due from then on: ISO 8601 with an offset. */
  from: string
  /** And before then; now, if left out. */
  to?: string
  /** Only this job, by id or key. */
  jobId?: string
  /** Fired later than that after it was due is late; 1,000 unless given. */
  lateAfterMs?: number
  /** How many findings to list, 100 by default; all are counted. */
  limit?: number
  /** Called after every part with what has been found so far. */
  onPart?: (soFar: VerifyResult) => void
  signal?: AbortSignal
}

const verifyOptionNames = [...['from', 'to', 'jobId', 'lateAfterMs', 'limit', 'onPart', 'signal']]

/** The most findings that one part lists. */
const mostListed = 1_000

export type ReadPart = (query: RequestOf<(typeof api)['verify']>['query']) => Promise<Verification>

export async function verifyAll(read: ReadPart, options: VerifyOptions): Promise<VerifyResult> {
  checkOptions(options, verifyOptionNames)
  const { from, to, jobId: job, lateAfterMs, limit = 100, onPart, signal } = options
  let sum: VerifyResult | null = null
  let cursor: string | null = null
  do {
    signal?.throwIfAborted()
    const room: number = Math.min(limit - (sum?.findings.length ?? 0), mostListed)
    const part: Verification = await read({
      from,
      to,
      job,
      lateAfterMs,
      limit: room,
      ...(cursor !== null && { cursor }),
    })
    sum = sum === null ? withVerdict(part) : added(sum, part)
    cursor = part.nextCursor
    onPart?.(sum)
  } while (cursor !== null)
  return sum
}

function added(sum: VerifyResult, part: Verification): VerifyResult {
  const skipped = { ...sum.skipped }
  for (const [reason, count] of Object.entries(part.skipped)) skipped[reason] = (skipped[reason] ?? 0) + count
  return withVerdict({
    ...part,
    checked: {
      jobs: sum.checked.jobs + part.checked.jobs,
      occurrences: sum.checked.occurrences + part.checked.occurrences,
    },
    missed: sum.missed + part.missed,
    doubled: sum.doubled + part.doubled,
    stuck: sum.stuck + part.stuck,
    wrong: sum.wrong + part.wrong,
    lost: {
      submissions: sum.lost.submissions + part.lost.submissions,
      minutes: [...sum.lost.minutes, ...part.lost.minutes],
      commits: [...sum.lost.commits, ...part.lost.commits],
    },
    open: sum.open + part.open,
    late: { count: sum.late.count + part.late.count, worstMs: Math.max(sum.late.worstMs, part.late.worstMs) },
    skipped,
    pending: sum.pending + part.pending,
    outsideHistory: {
      before: part.outsideHistory.before,
      jobs: sum.outsideHistory.jobs + part.outsideHistory.jobs,
    },
    findings: [...sum.findings, ...part.findings],
  })
}

function withVerdict({
  nextCursor: _,
  ...sum
}: Omit<Verification, 'nextCursor'> & { nextCursor?: unknown }): VerifyResult {
  const { missed, doubled, stuck, wrong, lost, outsideHistory } = sum
  const unknown = outsideHistory.before !== null || outsideHistory.jobs > 0
  const found = missed + doubled + stuck + wrong + lost.submissions + lost.commits.length
  return { ...sum, verdict: found > 0 ? 'FOUND' : unknown ? 'OUTSIDE_HISTORY' : 'CLEAN' }
}
