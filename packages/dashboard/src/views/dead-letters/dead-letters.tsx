import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { OperationProgress } from '../../components/operation-progress.tsx'
import { Panel } from '../../components/panel.tsx'
import { RangeChoice } from '../../components/range-choice.tsx'
import { TextFilter } from '../../components/text-filter.tsx'
import { type Filters, useFilters } from '../../lib/filters.ts'
import { filterNames, questionOf, usualRange } from './filter.ts'
import { GroupView } from './group.tsx'
import { Groups } from './groups.tsx'

/** By the error they ended with; or one such group, letter by letter. */
export default function DeadLetters() {
  const [filters, change] = useFilters()
  const { operation, group } = filters
  const view = {
    filters,
    bar: <FilterBar filters={filters} change={change} />,
    started: (operationId: string) => change({ operation: operationId }),
    progress: operation !== undefined && (
      <OperationProgress
        key={operation}
        operationId={operation}
        touches={['groupDeadLetters', 'listDeadLetters']}
        onClose={() => change({ operation: undefined })}
      />
    ),
  }
  return group === undefined ? <Groups {...view} /> : <GroupView key={JSON.stringify(questionOf(filters))} {...view} />
}

function FilterBar({ filters, change }: { filters: Filters; change: (changes: Filters) => void }) {
  const [isOpen, open] = useState(false)
  const given = filterNames.filter((name) => filters[name] !== undefined)
  const text = (name: (typeof filterNames)[number]) => ({
    value: filters[name],
    set: (value: string | undefined) => change({ [name]: value }),
  })
  return (
    <Panel className="mb-4">
      <div className="px-4 py-2 sm:hidden">
        <Button aria-expanded={isOpen} onClick={() => open(!isOpen)}>
          Filters{given.length > 0 && ` (${given.length})`}
        </Button>
      </div>
      <div
        className={`${isOpen ? '' : 'max-sm:hidden'} grid grid-cols-[repeat(auto-fill,minmax(10.5rem,1fr))] items-start gap-3 px-4 pt-2 pb-3`}
      >
        <TextFilter label="Job" placeholder="Key or id" data-search {...text('jobId')} />
        <TextFilter label="Handler" {...text('handler')} />
        <TextFilter label="Pool" {...text('pool')} />
        <RangeChoice filters={filters} usual={usualRange} change={change} />
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
    </Panel>
  )
}
