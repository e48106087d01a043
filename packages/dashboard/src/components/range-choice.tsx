import type { Filters } from '../lib/filters.ts'
import { quickRanges, rangeOf } from '../lib/ranges.ts'
import { clockTime, viewerZone } from '../lib/time.ts'
import { Field, Input, Select } from './field.tsx'

/** A range of time: a quick one, or exact from and to on the viewer's clock. `usual` is what holds if nothing is chosen. */
export function RangeChoice({
  filters,
  usual,
  change,
}: {
  filters: Filters
  usual: string
  change: (changes: Filters) => void
}) {
  const range = rangeOf(filters, usual)
  const choose = (chosen: string) =>
    change({ range: chosen === usual ? undefined : chosen, from: undefined, to: undefined })
  return (
    <>
      <Field label="Time">
        {(ids) => (
          <Select {...ids} value={range} onChange={({ target }) => choose(target.value)}>
            {quickRanges.map(({ name, words }) => (
              <option key={name} value={name}>
                {words}
              </option>
            ))}
            <option value="all">All time</option>
            <option value="exact">From and to…</option>
          </Select>
        )}
      </Field>
      {range === 'exact' && (
        <>
          <Moment label="From" at={filters.from} set={(from) => change({ range: 'exact', from })} />
          <Moment label="To" at={filters.to} set={(to) => change({ range: 'exact', to })} />
        </>
      )}
    </>
  )
}

function Moment({ label, at, set }: { label: string; at: string | undefined; set: (at: string | undefined) => void }) {
  return (
    <Field label={label}>
      {(ids) => (
        <Input
          {...ids}
          type="datetime-local"
          step={1}
          title={`Times in ${viewerZone}`}
          value={at === undefined ? '' : clockTime(new Date(at)).replace(' ', 'T')}
          onChange={({ target }) => set(target.value === '' ? undefined : new Date(target.value).toISOString())}
        />
      )}
    </Field>
  )
}
