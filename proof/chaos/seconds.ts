/** Jobs that fire every second, counted second by second: each has exactly one row, which may stand for several skipped. */
import type { Finding } from '../history.ts'

export interface SecondRow {
  jobId: string
  at: number
  /** For a row that stands for several. */
  last: number
  count: number
}

export interface Occurrences {
  missed: Finding[]
  doubled: Finding[]
}

/** Rows in the order of job and time; `from` and `to` are both seconds that must be there. */
export function countSeconds(rows: readonly SecondRow[], { from, to }: { from: number; to: number }): Occurrences {
  const found: Occurrences = { missed: [], doubled: [] }
  for (const [subject, own] of Map.groupBy(rows, ({ jobId }) => jobId)) {
    let next = from
    for (const { at, last, count } of own) {
      if (last < from) continue
      if (at > next) found.missed.push({ subject, problem: `has no row from ${next} up to ${at}` })
      if (at < next && next > from)
        found.doubled.push({ subject, problem: `has a row for ${at}, and others up to ${next}` })
      if (last - at !== (count - 1) * 1_000) {
        found.missed.push({ subject, problem: `has a row for ${count} seconds, from ${at} to ${last}` })
      }
      next = last + 1_000
    }
    if (next <= to) found.missed.push({ subject, problem: `has no row from ${next} up to the end, ${to}` })
  }
  return found
}
