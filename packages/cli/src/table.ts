/** Tables: aligned, cut to the width of the terminal, and safe to show whatever the data holds. */
import { stripVTControlCharacters } from 'node:util'

export type Paint = (text: string) => string

export interface Column<Row> {
  header: string
  value(row: Row): string | number | null | undefined
  align?: 'right'
  /** Is shortened when the terminal is narrow. */
  flexible?: boolean
  /** Is left out when shortening is not enough, the smallest first. */
  dispensable?: number
  paint?(row: Row): Paint
}

const gap = 2
const narrowest = 8

export function table<Row>(
  rows: readonly Row[],
  all: readonly Column<Row>[],
  options: { width: number; heading: Paint },
): string {
  const { columns, widths } = arranged(rows, all, options.width)
  const cells = rows.map((row) => columns.map((column) => textOf(column, row)))
  const line = (texts: string[], paints: (Paint | undefined)[]) =>
    texts
      .map((text, i) => {
        const last = i === texts.length - 1
        const cut = fit(text, widths[i]!)
        const fill = ' '.repeat(Math.max(0, widths[i]! - [...cut].length))
        const painted = paints[i]?.(cut) ?? cut
        if (columns[i]!.align === 'right') return fill + painted
        return last ? painted : painted + fill
      })
      .join(' '.repeat(gap))
      .trimEnd()
  const head = line(
    columns.map((column) => column.header),
    columns.map(() => options.heading),
  )
  const body = cells.map((texts, r) =>
    line(
      texts,
      columns.map((column) => column.paint?.(rows[r]!)),
    ),
  )
  return [head, ...body].join('\n')
}

function textOf<Row>(column: Column<Row>, row: Row): string {
  return printable(String(column.value(row) ?? '-'))
}

/** Which columns there is room for, and how wide each is. What is neither flexible nor dispensable stays whole. */
function arranged<Row>(rows: readonly Row[], all: readonly Column<Row>[], width: number) {
  const measured = all.map((column) => ({
    column,
    width: rows.reduce((most, row) => Math.max(most, [...textOf(column, row)].length), column.header.length),
  }))
  const least = ({ column, width }: (typeof measured)[number]) => (column.flexible ? Math.min(width, narrowest) : width)
  const total = (sizes: number[]) => sizes.reduce((sum, size) => sum + size + gap, -gap)
  const kept = [...measured]
  for (const { column } of measured
    .filter(({ column }) => column.dispensable !== undefined)
    .sort((a, b) => a.column.dispensable! - b.column.dispensable!)) {
    if (total(kept.map(least)) <= width) break
    kept.splice(
      kept.findIndex((each) => each.column === column),
      1,
    )
  }
  const widths = kept.map((each) => each.width)
  while (total(widths) > width) {
    const givers = kept.flatMap(({ column }, i) => (column.flexible && widths[i]! > narrowest ? [i] : []))
    if (givers.length === 0) break
    widths[givers.reduce((a, b) => (widths[b]! > widths[a]! ? b : a))]!--
  }
  return { columns: kept.map(({ column }) => column), widths }
}

function fit(text: string, width: number): string {
  const letters = [...text]
  return letters.length <= width ? text : `${letters.slice(0, Math.max(0, width - 1)).join('')}…`
}

/** Controls of the terminal, and what turns the direction of text around. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** Data may hold anything, also what would steer the terminal: that is taken out, and what cannot be seen is shown. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(unprintable, (c) => (c === '\n' || c === '\t' ? ' ' : '\ufffd'))
}
