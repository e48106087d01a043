/** The whole comparison in one call: for programs that hold the database. */
import type { Database } from '../store/database.ts'
import { readHorizon } from '../store/verification/progress.ts'
import { checkPage, firstPosition, type Position } from './page.ts'
import { addTally, emptyTally, type Finding, type Tally } from './tally.ts'

export interface Verification extends Pick<Tally, 'checked' | 'late' | 'skipped' | 'pending'> {
  /** As many as are listed; `counts` has how many there are. */
  missed: Finding[]
  doubled: Finding[]
  counts: { missed: number; doubled: number }
  outsideHistory: {
    /** Of what lies before this time nothing is kept. Null: all of the range is. */
    before: number | null
    /** Jobs whose schedule is not known for a part of the range. */
    jobs: number
  }
}

export interface VerifyOptions {
  from: number
  to: number
  now: number
  /** Null or left out: every tenant. */
  tenant?: string | null
  lateAfterMs?: number
  listed?: number
}

export const defaultLateAfterMs = 1_000

/** Compares what was due from `from` on and before `to` with the ledger. */
export async function verifyInstallation(database: Database, options: VerifyOptions): Promise<Verification> {
  const { tenant = null, lateAfterMs = defaultLateAfterMs, listed = 1_000, now } = options
  const from = Math.floor(options.from)
  const check = { tenant, jobId: null, from, to: Math.floor(Math.min(options.to, now)), now, lateAfterMs, listed }
  const tally = emptyTally()
  for (let position: Position | null = firstPosition; position !== null; ) {
    const page = await checkPage(database, check, position)
    addTally(tally, page.tally, listed)
    position = page.next
  }
  const { floor } = await readHorizon(database)
  const { checked, late, skipped, pending, findings } = tally
  return {
    ...{ checked, late, skipped, pending },
    missed: findings.filter(({ kind }) => kind === 'MISSED'),
    doubled: findings.filter(({ kind }) => kind === 'DOUBLED'),
    counts: { missed: tally.missed, doubled: tally.doubled },
    outsideHistory: { before: from < floor ? floor : null, jobs: tally.outsideHistory.jobs },
  }
}
