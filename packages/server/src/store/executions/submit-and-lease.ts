import type { Database } from '../database.ts'
import type { AnswerEntry } from '../idempotency/answers.ts'
import { type LaneReading, type Leased, type LeasedRow, leasedOf, leaseParameters, type Slot } from './lease.ts'
import { type Submission, submissionArrays } from './submit.ts'

export interface SubmittedAndLeased {
  /** Its request was answered before: nothing was written. */
  answered: boolean
  /** Its place in the queue; null if nothing was written. */
  tag: number | null
  /** What the slot was given, which need not be it; null: nothing. */
  leased: Leased | null
}

/** Writes one submission and fills one slot. See functions/submissions/submit_and_lease.sql. */
export async function submitAndLease(
  database: Database,
  {
    item,
    entry,
    virtualTime,
    cost,
  }: { item: Submission; entry: AnswerEntry | null; virtualTime: number; cost: number },
  { reading, slot }: { reading: LaneReading; slot: Slot },
): Promise<SubmittedAndLeased> {
  const entries = entry === null ? [] : [entry]
  const rows = await database.query<{ answered: boolean; tag: number | null } & (LeasedRow | { worker_id: null })>(
    'submit-and-lease',
    `select * from carillon.submit_and_lease($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,
       $22,$23,$24,$25,$26,$27)`,
    [
      entries.map((e) => e.tenant),
      entries.map((e) => e.route),
      entries.map((e) => e.key),
      entries.map((e) => `\\x${e.hash}`),
      entries.map((e) => e.answer),
      ...submissionArrays([item], [cost]),
      virtualTime,
      ...leaseParameters(reading, [slot]),
      database.now,
    ],
  )
  const row = rows[0]!
  return { answered: row.answered, tag: row.tag, leased: row.worker_id === null ? null : leasedOf(row) }
}
