import { type Dag, dagRunStates } from '@carillon/contract'
import { Button } from '../../components/button.tsx'
import { Field, Select } from '../../components/field.tsx'
import { RangeChoice } from '../../components/range-choice.tsx'
import { stateWord } from '../../components/state-mark.tsx'
import { TextFilter } from '../../components/text-filter.tsx'
import type { Filters } from '../../lib/filters.ts'
import { filterNames, isFiltered, usualRange } from './filter.ts'
import { markOf } from './run-mark.tsx'

export function RunFilters({
  filters,
  change,
  graphs,
}: {
  filters: Filters
  change: (changes: Filters) => void
  /** To choose from; those of the first page. */
  graphs: readonly Dag[]
}) {
  return (
    <search className="grid grid-cols-2 items-start gap-3 border-b border-line px-4 py-3 lg:grid-cols-[repeat(auto-fit,minmax(10rem,1fr))]">
      <Field label="State">
        {(ids) => (
          <Select
            {...ids}
            value={filters.state ?? ''}
            onChange={({ target }) => change({ state: target.value || undefined })}
          >
            <option value="">Any</option>
            {dagRunStates.map((state) => (
              <option key={state} value={state}>
                {stateWord(markOf({ state, paused: false }))}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <TextFilter
        label="DAG"
        placeholder="Key or id"
        data-search
        value={filters.dagId}
        set={(dagId) => change({ dagId })}
        suggestions={graphs.flatMap(({ key }) => key ?? [])}
      />
      <TextFilter
        label="Label"
        placeholder="team:billing"
        value={filters.label}
        set={(label) => change({ label })}
        maxLength={1_000}
      />
      <RangeChoice filters={filters} usual={usualRange} change={change} />
      <Button
        kind="quiet"
        className={`self-end justify-self-start ${isFiltered(filters) ? '' : 'max-lg:hidden'}`}
        disabled={!isFiltered(filters)}
        onClick={() => change(Object.fromEntries(filterNames.map((name) => [name, undefined])))}
      >
        Clear filters
      </Button>
    </search>
  )
}
