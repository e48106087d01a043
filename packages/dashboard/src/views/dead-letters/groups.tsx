import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Answer, Nothing } from '../../components/answer.tsx'
import { reasonText } from '../../components/execution-columns.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { useMay } from '../../lib/caller.ts'
import { currentTime } from '../../lib/clock.ts'
import type { Filters } from '../../lib/filters.ts'
import { count } from '../../lib/time.ts'
import { Bulk } from './bulk.tsx'
import { filterOf, type Group, groupFilterOf, nameOf } from './filter.ts'
import { useGroups } from './use-groups.ts'

export interface ViewOptions {
  filters: Filters
  bar: ReactNode
  progress: ReactNode
  started: (operationId: string) => void
}

export function Groups({ filters, bar, progress, started }: ViewOptions) {
  const groups = useGroups(filters)
  const mayWrite = useMay('jobs:write')
  const actions: Column<Group> = {
    name: 'Actions',
    isNumber: true,
    isWhole: true,
    cell: (group) => (
      <span className="flex flex-wrap justify-end gap-2 max-sm:justify-start">
        <Bulk
          of={`${count(group.count)} ${titleOf(group)}`}
          filterNow={() => ({ ...filterOf(filters, currentTime()), ...groupFilterOf(nameOf(group)) })}
          started={started}
        />
      </span>
    ),
  }
  return (
    <>
      <Heading title="Dead letters" about="What failed for good, by the error it ended with" />
      {progress}
      {bar}
      <Panel>
        <Answer of={groups}>
          {({ groups: found, complete }) =>
            found.length === 0 ? (
              <Nothing title="No dead letters">
                Executions whose attempts are used up come here, so that they can be looked at and replayed.
              </Nothing>
            ) : (
              <>
                <Table
                  rows={found}
                  columns={mayWrite ? [...columns, actions] : columns}
                  keyOf={nameOf}
                  caption="Dead letters by error, the largest group first"
                  flows
                />
                {!complete && (
                  <p className="border-t border-line px-4 py-2 text-soft">
                    There are more dead letters than were counted. Choose a shorter time to see the rest.
                  </p>
                )}
              </>
            )
          }
        </Answer>
      </Panel>
    </>
  )
}

export function titleOf({ error, reason }: Pick<Group, 'error' | 'reason'>): string {
  return error ?? reasonText(reason)
}

function Dead({ of }: { of: Group }) {
  return (
    <>
      <strong>{count(of.count)}</strong>
      <span className="sm:hidden"> dead</span>
    </>
  )
}

const columns: readonly Column<Group>[] = [
  {
    name: 'Error',
    isWhole: true,
    cell: (group) => (
      <span className="block max-w-xl">
        <Link
          to="/dead-letters"
          search={(before: Filters) => ({ ...before, group: nameOf(group) })}
          className="font-medium break-all text-accent hover:underline"
        >
          {titleOf(group)}
        </Link>
        {group.error !== null && <span className="text-soft"> {reasonText(group.reason)}</span>}
        {group.message !== null && <span className="line-clamp-2 break-words">{group.message}</span>}
      </span>
    ),
  },
  { name: 'Dead', isNumber: true, cell: (group) => <Dead of={group} /> },
  { name: 'Jobs', isNumber: true, isWide: true, cell: ({ jobs }) => count(jobs) },
  {
    name: 'Handlers',
    cell: ({ handlers }) => <span className="break-all text-soft">{handlers.join(', ')}</span>,
  },
  { name: 'First', isWide: true, cell: ({ firstAt }) => <Time at={firstAt} /> },
  { name: 'Last', cell: ({ lastAt }) => <Time at={lastAt} /> },
]
