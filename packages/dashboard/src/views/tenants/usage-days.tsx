/** What a tenant used by day, as two charts and a table. */
import type { Usage, UsageDay } from '@carillon/contract'
import { Answer, Nothing } from '../../components/answer.tsx'
import { Chart } from '../../components/chart.tsx'
import { Select } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFilters } from '../../lib/filters.ts'
import { useAsk } from '../../lib/queries.ts'
import { count, duration, shortCount } from '../../lib/time.ts'
import { dayAgo } from './use-usage.ts'

const dayMs = 86_400_000
const ranges = { 30: 'Last 30 days', 90: 'Last 90 days', 400: 'Last 400 days' } as const
const usual = '30'

export function UsageDays({ name }: { name: string }) {
  const [filters, change] = useFilters()
  const days = filters.days !== undefined && filters.days in ranges ? filters.days : usual
  const from = dayAgo(Number(days) - 1)
  const usage = useAsk('getTenantUsage', { params: { tenant: name }, query: { from } }, { everyMs: 60_000 })
  return (
    <Panel
      title="Usage by day"
      side={
        <Select
          aria-label="Days shown"
          className="w-auto!"
          value={days}
          onChange={({ target }) => change({ days: target.value === usual ? undefined : target.value })}
        >
          {Object.entries(ranges).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Select>
      }
    >
      <Answer of={usage}>
        {(known) =>
          known.days.length === 0 ? (
            <Nothing title="It used nothing in this time">
              Days are those of UTC; the current minute is not counted yet.
            </Nothing>
          ) : (
            <Days usage={known} />
          )
        }
      </Answer>
    </Panel>
  )
}

function Days({ usage }: { usage: Usage }) {
  const { total } = usage
  const days = filled(usage)
  const times = days.map(({ at }) => at / 1_000)
  // A day without has no bar.
  const pick = (of: (day: UsageDay) => number) => days.map(({ day }) => (day && of(day)) || null)
  const unit = unitOf(Math.max(...usage.days.map(({ runMs }) => runMs)))
  return (
    <>
      <div className="grid lg:grid-cols-2">
        <div className="min-w-0">
          <ChartTitle name="Executions that ended" value={shortCount(total.ended)} />
          <Chart
            days
            times={times}
            format={shortCount}
            label={`${count(total.ended)} executions ended, ${count(total.dead)} of them dead.`}
            series={[
              { name: 'Ended', colour: 'good', fill: true, values: pick(({ ended }) => ended) },
              { name: 'Dead', colour: 'bad', fill: true, values: pick(({ dead }) => dead) },
            ]}
          />
        </div>
        <div className="min-w-0">
          <ChartTitle name="Run time" value={duration(total.runMs)} />
          <Chart
            days
            times={times}
            format={(value) => `${Number(value.toFixed(1))} ${unit.name}`}
            label={`Attempts took ${duration(total.runMs)} in all.`}
            series={[{ name: 'Run time', colour: 'busy', fill: true, values: pick(({ runMs }) => runMs / unit.ms) }]}
          />
        </div>
      </div>
      <details className="border-t border-line">
        <summary className="px-4 py-2.5 text-accent">Day by day</summary>
        <Table
          caption="Usage by day, newest first"
          rows={usage.days.toReversed()}
          columns={columns}
          keyOf={({ day }) => day}
        />
      </details>
    </>
  )
}

/** Round numbers on the axis: hours, minutes or seconds. */
function unitOf(mostMs: number): { name: string; ms: number } {
  if (mostMs >= 3_600_000) return { name: 'h', ms: 3_600_000 }
  return mostMs >= 60_000 ? { name: 'min', ms: 60_000 } : { name: 's', ms: 1_000 }
}

function ChartTitle({ name, value }: { name: string; value: string }) {
  return (
    <p className="flex items-baseline justify-between gap-2 px-4 pt-3 pb-1">
      <span className="text-soft">{name}</span>
      <span className="font-semibold">{value}</span>
    </p>
  )
}

const columns: Column<UsageDay>[] = [
  { name: 'Day, UTC', cell: ({ day }) => <span className="font-medium">{day}</span> },
  { name: 'Ended', isNumber: true, cell: ({ ended }) => count(ended) },
  { name: 'Dead', isNumber: true, cell: ({ dead }) => count(dead) },
  { name: 'Attempts', isNumber: true, cell: ({ attempts }) => count(attempts) },
  { name: 'Failed', isNumber: true, cell: ({ failed }) => count(failed) },
  { name: 'Run time', isNumber: true, cell: ({ runMs }) => duration(runMs) },
]

/** Every day, also those on which nothing ended. */
function filled({ days, from, to }: Usage): { at: number; day: UsageDay | undefined }[] {
  const known = new Map(days.map((day) => [Date.parse(day.day), day]))
  const first = Date.parse(from)
  const length = Math.round((Date.parse(to) - first) / dayMs)
  return Array.from({ length }, (_, i) => first + i * dayMs).map((at) => ({ at, day: known.get(at) }))
}
