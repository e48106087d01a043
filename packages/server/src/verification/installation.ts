/** The whole comparison in one call, for programs with access to the database. */
import type { Database } from '../store/database.ts'
import { readHorizon } from '../store/verification/progress.ts'
import { type Loss, readLosses } from '../store/verification/receipts.ts'
import { checkPage, firstPosition, type Position } from './page.ts'
import { addTally, emptyTally, type Finding, type LostSubmissions, type Tally } from './tally.ts'

export interface Verification extends Pick<Tally, 'checked' | 'late' | 'skipped' | 'pending' | 'open'> {
  /** As many as are listed; `counts` has how many there are. */
  missed: Finding[]
  doubled: Finding[]
  /** Should have ended, or moved on, and has not. */
  stuck: Finding[]
  /** Rows that cannot be true. */
  wrong: Finding[]
  counts: { missed: number; doubled: number; stuck: number; wrong: number }
  lost: LostWork
  outsideHistory: {
    /** Of what lies before this time nothing is kept. Null: all of the range is. */
    before: number | null
    /** Jobs whose schedule is not known for a part of the range. */
    jobs: number
  }
}

/** What was acknowledged and is gone. */
export interface LostWork extends LostSubmissions {
  /** Times at which the database lost what it had committed. */
  commits: Loss[]
}

export interface VerifyOptions {
  from: number
  to: number
  now: number
  /** Null or left out: every tenant. */
  tenant?: string | null
  lateAfterMs?: number
  listed?: number
  /** A worker silent for that long is lost; by default no worker counts as lost. */
  lostMs?: number
}

export const defaultLateAfterMs = 1_000

/** Compares what was due from `from` on and before `to` with the ledger. */
export async function verifyInstallation(database: Database, options: VerifyOptions): Promise<Verification> {
  const { tenant = null, lateAfterMs = defaultLateAfterMs, listed = 1_000, now, lostMs } = options
  const from = Math.floor(options.from)
  const to = Math.floor(Math.min(options.to, now))
  const check = { tenant, jobId: null, from, to, now, lateAfterMs, listed, lostMs }
  const tally = emptyTally()
  for (let position: Position | null = firstPosition; position !== null; ) {
    const page = await checkPage(database, check, position)
    addTally(tally, page.tally, listed)
    position = page.next
  }
  const { floor } = await readHorizon(database)
  const { checked, late, skipped, pending, open, missed, doubled, stuck, wrong } = tally
  const of = (wanted: Finding['kind']) => tally.findings.filter(({ kind }) => kind === wanted)
  return {
    ...{ checked, late, skipped, pending, open },
    ...{ missed: of('MISSED'), doubled: of('DOUBLED'), stuck: of('STUCK'), wrong: of('WRONG') },
    counts: { missed, doubled, stuck, wrong },
    lost: { ...tally.lost, commits: await readLosses(database, { from, to }) },
    outsideHistory: { before: from < floor ? floor : null, jobs: tally.outsideHistory.jobs },
  }
}
