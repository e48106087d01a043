/**
 * Rows and columns; on a phone each row is a card of its own. A page of rows is what the node answers with, so this neither
 * sorts nor filters: the address of the view does, and the node.
 */
import type { ReactNode } from 'react'
import { Button } from './button.tsx'

export interface Column<Row> {
  name: string
  cell: (row: Row) => ReactNode
  /** Numbers stand at the right. */
  isNumber?: boolean
  /** Left out on a phone. */
  isWide?: boolean
  /** Has a line of its own on a phone where cells flow. */
  isWhole?: boolean
}

export function Table<Row>({
  rows,
  columns,
  keyOf,
  caption,
  selection,
  flows = false,
}: {
  rows: readonly Row[]
  columns: readonly Column<Row>[]
  keyOf: (row: Row) => string
  /** What the table holds, for those who hear it. */
  caption: string
  /** On a phone, cells follow one another without their names. */
  flows?: boolean
  selection?: { selected: ReadonlySet<string>; toggle: (key: string) => void; nameOf: (row: Row) => string }
}) {
  return (
    <table className="w-full border-collapse max-sm:block">
      <caption className="sr-only">{caption}</caption>
      <thead className="max-sm:sr-only">
        <tr className="border-b border-line text-left text-soft">
          {selection && (
            <th className="w-8 py-2 pl-4 font-medium">
              <span className="sr-only">Selected</span>
            </th>
          )}
          {columns.map(({ name, isNumber }, i) => (
            <th
              key={name}
              scope="col"
              className={`px-2 py-2 font-medium first:pl-4 last:pr-4 ${isNumber ? 'text-right' : followsNumber(columns, i)}`}
            >
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="max-sm:block">
        {rows.map((row) => {
          const key = keyOf(row)
          return (
            <tr
              key={key}
              className={`border-b border-line last:border-b-0 hover:bg-sunken max-sm:px-4 max-sm:py-2 ${flows ? 'max-sm:flex max-sm:flex-wrap max-sm:gap-x-3' : 'max-sm:block'}`}
            >
              {selection && (
                <td className="w-8 py-1.5 pl-4 max-sm:float-right">
                  <input
                    type="checkbox"
                    aria-label={`Select ${selection.nameOf(row)}`}
                    checked={selection.selected.has(key)}
                    onChange={() => selection.toggle(key)}
                  />
                </td>
              )}
              {columns.map(({ name, cell, isNumber, isWide, isWhole }, i) => (
                <td
                  key={name}
                  className={`min-w-0 px-2 py-1.5 align-baseline sm:first:pl-4 sm:last:pr-4 max-sm:px-0 max-sm:py-0.5 max-sm:text-left ${i === 0 || flows ? 'max-sm:block' : 'max-sm:grid max-sm:grid-cols-[7.5rem_minmax(0,1fr)] max-sm:items-baseline'} ${isNumber ? 'text-right sm:whitespace-nowrap' : followsNumber(columns, i)} ${isWide ? 'max-sm:hidden' : ''} ${isWhole ? 'max-sm:w-full' : ''}`}
                >
                  {/* On a phone the first cell is the head of the card. */}
                  {i > 0 && <span className={`text-soft sm:hidden ${flows ? 'max-sm:sr-only' : ''}`}>{name}</span>}
                  <div className="min-w-0">{cell(row)}</div>
                </td>
              ))}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

/** A number stands at the right of its column and a text at the left of its own: between them is room. */
function followsNumber<Row>(columns: readonly Column<Row>[], at: number): string {
  return columns[at - 1]?.isNumber ? 'sm:pl-6' : ''
}

/** Asks for the next page of a list, if there is one. */
export function More({ hasMore, busy, onMore }: { hasMore: boolean; busy: boolean; onMore: () => void }) {
  if (!hasMore) return null
  return (
    <div className="border-t border-line p-3 text-center">
      <Button disabled={busy} onClick={onMore}>
        {busy ? 'Loading…' : 'Load more'}
      </Button>
    </div>
  )
}
