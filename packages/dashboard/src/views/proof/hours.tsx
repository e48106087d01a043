import type { Verified } from '@carillon/contract/api'
import { HeatMap } from '../../components/heat-map.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateIcon } from '../../components/state-mark.tsx'
import { clockTime, count } from '../../lib/time.ts'

const hour = 3_600_000
const day = 24 * hour
const weekday = new Intl.DateTimeFormat('en', { weekday: 'short', day: 'numeric', month: 'short' })

type Hour = Verified['hours'][number]

/** Hour by hour: how much was compared, and every hour in which something was found. */
export function Hours({ verified: { hours } }: { verified: Verified }) {
  if (hours.length === 0) return null
  const first = new Date(hours[0]!.at).setHours(0, 0, 0, 0)
  const last = Date.parse(hours.at(-1)!.at)
  const known = new Map(hours.map((each) => [Date.parse(each.at), each]))
  const days = Array.from({ length: Math.floor((last - first) / day) + 1 }, (_, i) => first + i * day)
  const at = (row: number, column: number) => known.get(days[row]! + column * hour)
  const troubled = hours.filter((each) => faultsOf(each).length > 0)
  return (
    <Panel title="Over time" side="occurrences compared, by the hour">
      <HeatMap
        label={`Occurrences compared in ${count(hours.length)} hours.`}
        rows={days.map((start, row) => ({
          key: String(start),
          label: weekday.format(start),
          values: Array.from({ length: 24 }, (_, column) => at(row, column)?.occurrences ?? 0),
        }))}
        columnLabels={Array.from({ length: 24 }, (_, column) =>
          column % 6 === 0 ? String(column).padStart(2, '0') : '',
        )}
        describe={(row, column) => {
          const time = clockTime(new Date(days[row]! + column * hour), { seconds: false })
          const found = at(row, column)
          return found ? `${time}: ${sentence(found)}` : `${time}: nothing was compared`
        }}
      />
      {troubled.length > 0 && (
        <ul className="divide-y divide-line border-t border-line">
          {troubled.reverse().map((each) => (
            <li key={each.at} className="flex items-center gap-2 px-4 py-2">
              <StateIcon state="DEAD" /> {clockTime(new Date(each.at), { seconds: false })}: {sentence(each)}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function faultsOf(found: Hour): string[] {
  return (['missed', 'doubled', 'stuck', 'wrong', 'lost'] as const)
    .filter((kind) => found[kind] > 0)
    .map((kind) => `${count(found[kind])} ${kind}`)
}

function sentence(found: Hour): string {
  const faults = faultsOf(found)
  const late = found.late > 0 ? `, ${count(found.late)} late` : ''
  return `${count(found.occurrences)} compared, ${faults.length === 0 ? 'clean' : faults.join(', ')}${late}`
}
