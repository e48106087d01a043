import { jobStates, jobTypes } from '@carillon/contract'
import { useEffect } from 'react'
import { Button } from '../../components/button.tsx'
import { Field, Input, Select } from '../../components/field.tsx'
import { stateWord } from '../../components/state-mark.tsx'
import { TextFilter } from '../../components/text-filter.tsx'
import type { Filters } from '../../lib/filters.ts'
import { useAsk } from '../../lib/queries.ts'
import { useTypedFilter } from '../../lib/typed-filter.ts'

const typeWords = {
  CRON: 'Cron',
  INTERVAL: 'Interval',
  ONE_SHOT: 'One shot',
  DELAYED: 'Delayed',
  AFTER: 'After',
} as const
const pauseMs = 250

export function JobFilters({ filters, change }: { filters: Filters; change: (changes: Filters) => void }) {
  const pools = useAsk('listPools', { query: { limit: 1_000 } })
  const names = new Set([...(pools.data?.items.map(({ name }) => name) ?? []), ...(filters.pool ? [filters.pool] : [])])
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  return (
    <search className="mb-4 grid grid-cols-2 items-end gap-3 lg:grid-cols-[minmax(0,2fr)_repeat(4,minmax(0,1fr))_auto]">
      <div className="max-lg:col-span-2">
        <Search value={filters.search} set={(search) => change({ search })} />
      </div>
      <Choice label="State" value={filters.state} set={(state) => change({ state })}>
        {jobStates.map((state) => (
          <option key={state} value={state}>
            {stateWord(state)}
          </option>
        ))}
      </Choice>
      <Choice label="Type" value={filters.type} set={(type) => change({ type })}>
        {jobTypes.map((type) => (
          <option key={type} value={type}>
            {typeWords[type]}
          </option>
        ))}
      </Choice>
      <Choice label="Pool" value={filters.pool} set={(pool) => change({ pool })}>
        {Array.from(names, (name) => (
          <option key={name}>{name}</option>
        ))}
      </Choice>
      <TextFilter
        label="Label"
        placeholder="team:billing"
        value={filters.label}
        set={(label) => change({ label })}
        maxLength={1_000}
      />
      <Button
        kind="quiet"
        className={`max-lg:col-span-2 ${isFiltered ? '' : 'max-lg:hidden'}`}
        disabled={!isFiltered}
        onClick={() => change(Object.fromEntries(Object.keys(filters).map((name) => [name, undefined])))}
      >
        Clear
      </Button>
    </search>
  )
}

/** What is typed is searched for once the typing pauses. */
function Search({ value, set }: { value: string | undefined; set: (value: string | undefined) => void }) {
  const { text, write, send } = useTypedFilter(value, set)
  useEffect(() => {
    const timer = setTimeout(send, pauseMs)
    return () => clearTimeout(timer)
  }, [send])
  return (
    <Field label="Search">
      {(ids) => (
        <Input
          {...ids}
          type="search"
          data-search
          placeholder="Name, key or handler"
          maxLength={200}
          value={text}
          onChange={({ target }) => write(target.value)}
        />
      )}
    </Field>
  )
}

function Choice({
  label,
  value,
  set,
  children,
}: {
  label: string
  value: string | undefined
  set: (value: string | undefined) => void
  children: React.ReactNode
}) {
  return (
    <Field label={label}>
      {(ids) => (
        <Select {...ids} value={value ?? ''} onChange={({ target }) => set(target.value || undefined)}>
          <option value="">{label === 'State' ? 'Any but deleted' : 'Any'}</option>
          {children}
        </Select>
      )}
    </Field>
  )
}
