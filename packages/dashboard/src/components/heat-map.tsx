/**
 * How much happens when: a row for each hour or day, a cell for each minute or hour in it. The map is one stop for the keyboard;
 * the arrow keys move a cursor over its cells, and what is under it is said in words below.
 */
import { type KeyboardEvent, useState } from 'react'
import { count } from '../lib/time.ts'

export interface HeatRow {
  key: string
  label: string
  values: readonly number[]
}

const gap = 1
const labelWidth = 76
const cellHeight = 16
const groundShare = 0.1

export function HeatMap({
  rows,
  columnLabels,
  describe,
  label,
}: {
  rows: readonly HeatRow[]
  /** By column; an empty one is not shown. */
  columnLabels: readonly string[]
  /** What a cell says. */
  describe: (row: number, column: number) => string
  label: string
}) {
  const [at, move] = useState<{ row: number; column: number } | null>(null)
  const busy = rows.flatMap(({ values }) => values.filter((value) => value > 0)).sort((a, b) => a - b)
  const most = busy.at(-1) ?? 0
  // What is there all the time is the ground: what rises above it is to be seen.
  const ground = busy[Math.floor(busy.length * groundShare)] ?? 0
  const columns = columnLabels.length
  const onKeyDown = (event: KeyboardEvent) => {
    const { row, column } = at ?? { row: 0, column: 0 }
    const next = {
      ArrowUp: { row: row - 1, column },
      ArrowDown: { row: row + 1, column },
      ArrowLeft: { row, column: column - 1 },
      ArrowRight: { row, column: column + 1 },
    }[event.key]
    if (!next) return
    event.preventDefault()
    move({ row: within(next.row, rows.length), column: within(next.column, columns) })
  }
  return (
    <div className="px-4 py-3">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move over its cells */}
      <div role="img" tabIndex={0} aria-label={`${label} Arrow keys move over it.`} onKeyDown={onKeyDown}>
        <div
          className="grid"
          style={{ gridTemplateColumns: `${labelWidth}px repeat(${columns}, minmax(0, 1fr))`, gap }}
        >
          {rows.map(({ key, label: name, values }, row) => (
            <div key={key} className="contents">
              <span className="truncate pr-2 text-right text-xs text-soft" style={{ lineHeight: `${cellHeight}px` }}>
                {name}
              </span>
              {values.map((value, column) => (
                <span
                  key={column}
                  onPointerEnter={() => move({ row, column })}
                  className={`rounded-[2px] ${at?.row === row && at.column === column ? 'outline-2 outline-ink' : ''}`}
                  style={{
                    height: cellHeight,
                    backgroundColor:
                      value === 0 ? 'var(--sunken)' : heat((value - ground) / Math.max(1, most - ground)),
                  }}
                />
              ))}
            </div>
          ))}
          <span />
          {columnLabels.map((name, column) => (
            <span key={column} className="text-xs whitespace-nowrap text-soft">
              {name}
            </span>
          ))}
        </div>
      </div>
      <p className="mt-2 min-h-5 text-soft" aria-live="polite">
        {at ? describe(at.row, at.column) : `Stronger colour means more; the busiest cell has ${count(most)}.`}
      </p>
    </div>
  )
}

/** What is there at all is told from nothing. */
function heat(share: number): string {
  return `color-mix(in oklab, var(--accent) ${Math.round(22 + 78 * Math.max(0, share) ** 0.7)}%, var(--sunken))`
}

function within(value: number, length: number): number {
  return Math.max(0, Math.min(length - 1, value))
}
