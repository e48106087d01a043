/**
 * Continuous verification: the comparison of `carillon verify` in the background, pass after pass over all jobs, each from where the last
 * one ended up to a few minutes ago. What it costs is bounded: page by page, with pauses that leave the time to others. With
 * very many jobs a pass takes longer and the next one has more to look at, but nothing is left out. One node at a time does it.
 *
 * What is past its time is looked for apart, once for each pass: what becomes stuck is born long before.
 *
 * What must stay true: what is still to fire is not called missed. A pass ends before the earliest position of all
 * schedules, so after an outage it waits until everything has been caught up with. A schedule that cannot fire would block it;
 * after ten minutes without any movement it goes on, and that one is found missing. An execution is called stuck only if it was so a
 * minute ago too: after an outage there is much to catch up with.
 */
import type { Clock } from '../lib/clock.ts'
import type { Again } from '../lib/loop.ts'
import { TimeBudget } from '../lib/time-budget.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import {
  beginWatching,
  type Note,
  type Progress,
  readOldestDue,
  readProgress,
  writeStep,
  writeStuck,
} from '../store/verification/progress.ts'
import { readPastTime } from '../store/verification/stuck.ts'
import { defaultLateAfterMs } from './installation.ts'
import { type CheckedPage, checkPage, firstPosition, type Position } from './page.ts'
import { emptyTally, type Finding, found, foundIn, type Tally } from './tally.ts'

export interface VerifierOptions {
  database: Database
  clock: Clock
  logger: Logger
  /** A worker silent for that long is lost. */
  lostMs?: number
  /** What was due so recently is not looked at yet. */
  lagMs?: number
  monotonic?: () => number
}

/** The verifier's share of wall time, spread evenly: three seconds of every minute in one piece made fires late. */
const share = 0.05
/** One slow page does not stop the pass for longer than this. */
const longestPauseMs = 60_000
const stalledAfterMs = 10 * 60_000
const stuckAgainMs = 50_000
/** How many overdue executions to examine; beyond that only their number is known to be large. */
const stuckCounted = 1_000
/** Findings of a page to record one by one; all are counted. */
const listed = 20

export class Verifier {
  readonly #options: VerifierOptions
  readonly #time: TimeBudget
  /** Past their time when they were last looked for, and since when. */
  #late = new Map<string, number>()
  #told: ReadonlySet<string> = new Set()
  #oldest: { due: number | null; since: number } = { due: null, since: 0 }

  constructor(options: VerifierOptions) {
    this.#options = options
    this.#time = new TimeBudget({ share, longestPauseMs, monotonic: options.monotonic })
  }

  /** Looks at one page. Answers how long to wait before the next one; undefined: there is none for now. */
  async runOnce(): Promise<Again | undefined> {
    const goesOn = await this.#time.spend(() => this.#lookOnce())
    return goesOn ? { againInMs: this.#time.pauseMs } : undefined
  }

  async #lookOnce(): Promise<boolean> {
    const { database, clock } = this.#options
    const progress = await readProgress(database)
    if (progress === null) {
      await beginWatching(database, Math.floor(clock.now()))
      return false
    }
    if (progress.pass === null) await this.#lookForStuck(clock.now())
    const pass = progress.pass ?? (await this.#begin(progress, clock.now()))
    return pass !== null && (await this.#step(progress.verifiedUntil, pass))
  }

  /** Executions that are overdue now and were at an earlier look. */
  async #lookForStuck(now: number): Promise<void> {
    const { database, lostMs = null } = this.#options
    const late = await readPastTime(database, { lostMs, limit: stuckCounted })
    const known = this.#late
    this.#late = new Map(late.map(({ executionId }) => [executionId, known.get(executionId) ?? now]))
    const stuck = late.filter(({ executionId }) => now - this.#late.get(executionId)! >= stuckAgainMs)
    const told = stuck.filter(({ executionId }) => !this.#told.has(executionId))
    this.#told = new Set(stuck.map(({ executionId }) => executionId))
    const tally = emptyTally()
    for (const finding of told) found(tally, finding, listed)
    await writeStuck(database, { now: stuck.length, more: tally.stuck, notes: tally.findings.map(noteOf) })
    this.#tell(tally)
  }

  /** Null: nothing has come to be looked at since the last pass. */
  async #begin({ verifiedUntil }: Progress, now: number): Promise<{ to: number; position: string | null } | null> {
    const { database, lagMs = 2 * 60_000 } = this.#options
    const due = await readOldestDue(database)
    if (due !== this.#oldest.due) this.#oldest = { due, since: now }
    const waiting = now - this.#oldest.since < stalledAfterMs
    const to = Math.min(Math.floor(now - lagMs), waiting ? (due ?? Infinity) : Infinity)
    return to > verifiedUntil ? { to, position: null } : null
  }

  /** False: the pass is over, or another node has taken it up. */
  async #step(from: number, { to, position }: { to: number; position: string | null }): Promise<boolean> {
    const { database, clock, lostMs } = this.#options
    const now = clock.now()
    const check = {
      tenant: null,
      jobId: null,
      from,
      to,
      now,
      lateAfterMs: defaultLateAfterMs,
      listed,
      lostMs,
      inPasses: true,
    }
    const at = position === null ? firstPosition : (JSON.parse(position) as Position)
    const { tally, next }: CheckedPage = await checkPage(database, check, at)
    const { findings, missed, doubled, stuck, wrong, late, checked, lost } = tally
    const written = await writeStep(database, {
      from,
      seen: position,
      position: next && JSON.stringify(next),
      to,
      ...{ missed, doubled, stuck, wrong, lost: lost.submissions, late: late.count, occurrences: checked.occurrences },
      findings: [...findings.map(noteOf), ...lost.minutes.map(lossOf)],
    })
    if (written) this.#tell(tally)
    return written && next !== null
  }

  #tell(tally: Tally): void {
    const { logger } = this.#options
    for (const { scheduledFor, ...finding } of tally.findings) {
      logger.error({ ...finding, scheduledFor: new Date(scheduledFor).toISOString() }, messages[finding.kind])
    }
    for (const { minute, ...counts } of tally.lost.minutes) {
      logger.error(
        { minute: new Date(minute).toISOString(), ...counts },
        'acknowledged submissions are not in the ledger',
      )
    }
    const more = foundIn(tally) - tally.findings.length
    if (more > 0) logger.error({ more }, 'there are more findings; run: carillon verify')
  }
}

const messages: Record<Finding['kind'], string> = {
  MISSED: 'an occurrence is missing from the ledger',
  DOUBLED: 'the ledger has an occurrence too many',
  STUCK: 'an execution should have ended and has not',
  WRONG: 'a row of the ledger cannot be true',
}

const actions: Record<Finding['kind'], string> = {
  MISSED: 'occurrence.missed',
  DOUBLED: 'occurrence.doubled',
  STUCK: 'execution.stuck',
  WRONG: 'execution.wrong',
}

function noteOf({ kind, tenant, executionId, jobId, scheduledFor, why }: Finding): Note {
  return {
    tenant,
    action: actions[kind],
    subject: executionId,
    detail: { jobId, why, scheduledFor: new Date(scheduledFor) },
  }
}

function lossOf({ minute, acknowledged, kept }: Tally['lost']['minutes'][number]): Note {
  const detail = { minute: new Date(minute), acknowledged, kept }
  return { tenant: null, action: 'submissions.lost', subject: null, detail }
}
