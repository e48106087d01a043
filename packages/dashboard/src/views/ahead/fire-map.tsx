import type { Forecast } from '@carillon/contract/api'
import { HeatMap } from '../../components/heat-map.tsx'
import { clockTime, count } from '../../lib/time.ts'
import type { SpanName } from './ahead.tsx'

const minute = 60_000
const hour = 60 * minute

/** Of a day: hours by two minutes. Of a month: days by hours, of the viewer's zone. */
export function FireMap({ forecast, span }: { forecast: Forecast; span: SpanName }) {
  const { rowMs, cellMs, nameRow, nameColumn } = layouts[span]
  const first = startOf(span, Date.parse(forecast.from))
  const rows = Math.ceil((Date.parse(forecast.to) - first) / rowMs)
  const columns = rowMs / cellMs
  const cells = Array.from({ length: rows }, () => new Array<number>(columns).fill(0))
  for (const { at, fires } of forecast.buckets) {
    const since = Date.parse(at) - first
    const row = cells[Math.floor(since / rowMs)]
    if (row) row[Math.floor((since % rowMs) / cellMs)]! += fires
  }
  const atCell = (row: number, column: number) => new Date(first + row * rowMs + column * cellMs)
  return (
    <HeatMap
      label={`${count(forecast.fires)} coming fires.`}
      rows={cells.map((values, row) => {
        const at = new Date(first + row * rowMs)
        return { key: at.toISOString(), label: nameRow(at), values }
      })}
      columnLabels={Array.from({ length: columns }, (_, column) => nameColumn(column))}
      describe={(row, column) => {
        const from = atCell(row, column)
        const to = new Date(from.getTime() + cellMs)
        const fires = cells[row]?.[column] ?? 0
        return `${clockTime(from, { seconds: false })} to ${clockTime(to, { seconds: false, date: false })}: ${count(fires)} ${fires === 1 ? 'fire' : 'fires'}`
      }}
    />
  )
}

const weekday = new Intl.DateTimeFormat('en', { weekday: 'short', day: 'numeric', month: 'short' })
const twoDigits = (value: number) => String(value).padStart(2, '0')

const layouts = {
  day: {
    rowMs: hour,
    cellMs: 2 * minute,
    nameRow: (at: Date) => clockTime(at, { seconds: false, date: false }),
    nameColumn: (column: number) => (column % 5 === 0 ? `:${twoDigits(column * 2)}` : ''),
  },
  month: {
    rowMs: 24 * hour,
    cellMs: hour,
    nameRow: (at: Date) => weekday.format(at),
    nameColumn: (column: number) => (column % 6 === 0 ? twoDigits(column) : ''),
  },
}

/** On the viewer's clock, a day begins with an hour and a month with a midnight. Days on which clocks change are drawn as 24 hours. */
function startOf(span: SpanName, from: number): number {
  return span === 'day' ? new Date(from).setMinutes(0, 0, 0) : new Date(from).setHours(0, 0, 0, 0)
}
