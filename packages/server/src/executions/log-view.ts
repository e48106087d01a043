/** Log lines as the contract shows them. */
import type { LogLine } from '@carillon/contract'
import type { LineRow } from '../store/executions/log-lines.ts'

export interface NumberedLine {
  /** Its number among all lines of the execution. */
  position: number
  line: LogLine
}

/** The lines of these rows that come after the one with this number. */
export function linesOf(rows: readonly LineRow[], after = 0): NumberedLine[] {
  return rows
    .flatMap(({ position, attempt, times, lines }) =>
      lines.map((text, at) => ({
        position: position - lines.length + at + 1,
        line: { at: new Date(times[at]!).toISOString(), attempt, text },
      })),
    )
    .filter(({ position }) => position > after)
}
