/** Several seeds, one line each. */
import type { Violation } from '../history.ts'

export type Summary =
  | { seed: number; error: string }
  | {
      seed: number
      violations: Violation[]
      /** What a run of full length did too seldom. */
      shortfalls: string[]
      lost: number
      doubled: number
      fired: number
      longestGapMs: number
      records?: string
    }

export function hasFailed(summary: Summary): boolean {
  return 'error' in summary || summary.violations.length > 0 || summary.shortfalls.length > 0
}

export function summaryTable(summaries: readonly Summary[]): string[] {
  const rows = summaries.map((each) => [`${each.seed}`, ...columnsOf(each)])
  const table = [['seed', 'executions', 'lost', 'doubled', 'violations', 'longest gap', ''], ...rows]
  const widths = table[0]!.map((_, at) => Math.max(...table.map((row) => row[at]!.length)))
  const failed = summaries.filter(hasFailed).map(({ seed }) => seed)
  return [
    ...table.map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    ),
    `${summaries.length} seeds, ${failed.length} failed${failed.length > 0 ? `: ${failed.join(', ')}` : ''}`,
  ]
}

function columnsOf(summary: Summary): string[] {
  if ('error' in summary) return ['', '', '', '', '', `did not come to its end: ${summary.error}`]
  const { fired, lost, doubled, violations, longestGapMs, records, shortfalls } = summary
  const checkers = [...Map.groupBy(violations, ({ checker }) => checker)].map(([name, own]) => `${name} ${own.length}`)
  const remarks = [...checkers, ...shortfalls, ...(records ? [records] : [])]
  return [`${fired}`, `${lost}`, `${doubled}`, `${violations.length}`, `${longestGapMs} ms`, remarks.join('; ')]
}
