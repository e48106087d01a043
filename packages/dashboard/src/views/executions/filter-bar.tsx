import { executionStates, origins } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Field, Select } from '../../components/field.tsx'
import { RangeChoice } from '../../components/range-choice.tsx'
import { StateIcon, stateWord } from '../../components/state-mark.tsx'
import { TextFilter } from '../../components/text-filter.tsx'
import type { Filters } from '../../lib/filters.ts'
import { filterNames, usualRange } from './filter.ts'

const originWords = {
  SCHEDULE: 'Schedule',
  TRIGGER: 'Trigger',
  BACKFILL: 'Backfill',
  SUBMIT: 'Submission',
  DAG: 'DAG step',
} as const

export function FilterBar({ filters, change }: { filters: Filters; change: (changes: Filters) => void }) {
  const [isOpen, open] = useState(false)
  const given = filterNames.filter((name) => name !== 'state' && filters[name] !== undefined)
  const text = (name: (typeof filterNames)[number]) => ({
    value: filters[name],
    set: (value: string | undefined) => change({ [name]: value }),
  })
  return (
    <div className="border-b border-line">
      <States />
      <div className="px-4 pb-2 sm:hidden">
        <Button aria-expanded={isOpen} onClick={() => open(!isOpen)}>
          Filters{given.length > 0 && ` (${given.length})`}
        </Button>
      </div>
      <div
        className={`${isOpen ? '' : 'max-sm:hidden'} grid grid-cols-[repeat(auto-fill,minmax(10.5rem,1fr))] items-start gap-3 px-4 pb-3`}
      >
        <TextFilter label="Job" placeholder="Key or id" data-search {...text('jobId')} />
        <TextFilter label="Handler" {...text('handler')} />
        <TextFilter label="Pool" {...text('pool')} />
        <Field label="Origin">
          {(ids) => (
            <Select
              {...ids}
              value={filters.origin ?? ''}
              onChange={({ target }) => change({ origin: target.value || undefined })}
            >
              <option value="">Any</option>
              {origins.map((origin) => (
                <option key={origin} value={origin}>
                  {originWords[origin]}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <TextFilter label="Error" placeholder="Name of the error" {...text('error')} />
        <TextFilter label="Label" placeholder="name:text" pattern="[^:]+:.+" {...text('label')} />
        <RangeChoice filters={filters} usual={usualRange(filters)} change={change} />
        {given.length > 0 && (
          <Button
            kind="quiet"
            className="self-end justify-self-start"
            onClick={() => change(Object.fromEntries(given.map((name) => [name, undefined])))}
          >
            Clear filters
          </Button>
        )}
      </div>
    </div>
  )
}

function States() {
  const strip = useRef<HTMLElement>(null)
  // On a phone the chosen one may stand outside.
  useEffect(() => {
    const chosen = strip.current?.querySelector<HTMLElement>('[aria-current]')
    if (chosen) strip.current!.scrollLeft = chosen.offsetLeft - strip.current!.clientWidth / 2
  }, [])
  return (
    <nav ref={strip} aria-label="State" className="relative flex gap-1 overflow-x-auto px-3 py-2.5">
      {[undefined, ...executionStates].map((state) => (
        <Link
          key={state ?? 'all'}
          to="/executions"
          search={(before: Filters) => ({ ...before, state })}
          replace
          activeOptions={{ exact: true }}
          className="inline-flex shrink-0 items-center gap-1.5 rounded-full border border-transparent px-2.5 py-1 hover:bg-sunken aria-[current=page]:border-accent aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium"
        >
          {state !== undefined && <StateIcon state={state} />}
          {state === undefined ? 'All' : stateWord(state).replace(', will retry', '')}
        </Link>
      ))}
    </nav>
  )
}
