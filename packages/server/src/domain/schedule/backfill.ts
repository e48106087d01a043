/**
 * What a backfill does with a stretch of occurrences that have passed: those without a record are run; those recorded as
 * SKIPPED only if asked for; all others have run or were decided about, and are left alone.
 *
 * A SKIPPED row may stand for several occurrences in a row. Running one of them cuts that row: what lies before it stays in
 * the row, what lies after it gets a row of its own. So every occurrence is recorded in exactly one row at any time, however
 * far the backfill has come. Parts are counted by the schedule that the job had when they were skipped: what is run now may be
 * an occurrence of another one.
 */

/** A SKIPPED row: the occurrences it stands for. */
export interface SkippedRow {
  id: string
  first: number
  last: number
  count: number
  /** Of the job, when they were skipped. */
  version: number | null
}

/** Occurrences of one of the schedules that the job has had. */
export interface Counting {
  /** From an occurrence's time to when it was due. */
  jitterMs: number
  next: (after: number) => number | null
  /** The last occurrence before `before`, from `first` on. */
  previous: (first: number, before: number) => number
  /** Occurrences from `first` on and before `before`. */
  count: (first: number, before: number) => number
}

/** What the ledger has at the time of an occurrence. */
export type Recorded = { skipped: SkippedRow } | { skipped: null }

export interface Cut {
  id: string
  last: number
  /** Occurrences of the row before this one, the last of them at `prev`. */
  head: number
  prev: number | null
  tail: { id: string; nominal: number; due: number; count: number } | null
}

export interface Fill {
  id: string
  nominal: number
  due: number
  /** Occurrences left alone since the fill before. */
  passed: number
  cover: Cut | null
}

export interface BackfillInput {
  /** Ascending, all of a stretch. */
  occurrences: number[]
  recorded: ReadonlyMap<number, Recorded>
  /** The SKIPPED row that begins before the stretch and may reach into it. */
  before: SkippedRow | null
  includeSkipped: boolean
  /** The most fills to plan. */
  room: number
  idOf: (nominal: number) => string
  jitterMs: number
  countingOf: (version: number | null) => Counting
}

export interface BackfillPlan {
  fills: Fill[]
  /** Left alone after the last fill. */
  passed: number
  /** The last occurrence that was dealt with; null: none. */
  position: number | null
}

export function planBackfill(input: BackfillInput): BackfillPlan {
  const { occurrences, recorded, includeSkipped, room, idOf, jitterMs } = input
  const plan: BackfillPlan = { fills: [], passed: 0, position: null }
  let reach = input.before
  for (const nominal of occurrences) {
    const row = recorded.get(nominal)
    if (row?.skipped) reach = row.skipped
    const cover = row ? row.skipped : reach !== null && reach.last >= nominal ? reach : null
    if ((row && !row.skipped) || (cover && !includeSkipped)) {
      plan.passed++
    } else {
      if (plan.fills.length >= room) return plan
      const cut = cover && cutOf(input, cover, nominal)
      plan.fills.push({ id: idOf(nominal), nominal, due: nominal + jitterMs, passed: plan.passed, cover: cut })
      plan.passed = 0
      if (cover && cut) {
        const { version } = cover
        reach = cut.tail && { id: cut.tail.id, first: cut.tail.nominal, last: cut.last, count: cut.tail.count, version }
      }
    }
    plan.position = nominal
  }
  return plan
}

function cutOf(input: BackfillInput, cover: SkippedRow, nominal: number): Cut {
  const { id, first, last, version } = cover
  const { next, previous, count, jitterMs } = input.countingOf(version)
  // None, if the schedule was changed since, and the time is one of the new one only.
  const own = count(nominal, nominal + 1)
  const head = nominal === first ? 0 : Math.min(Math.max(count(first, nominal), 1), Math.max(cover.count - own, 1))
  const prev = nominal === first ? null : Math.max(previous(first, nominal), first)
  const following = next(nominal)
  const left = cover.count - head - own
  const tail =
    following === null || following > last || left < 1
      ? null
      : { id: input.idOf(following), nominal: following, due: following + jitterMs, count: left }
  return { id, last, head, prev, tail }
}
