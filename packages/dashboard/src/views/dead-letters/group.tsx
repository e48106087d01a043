import type { Execution } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Loading, Nothing, Trouble } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { reasonText } from '../../components/execution-columns.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { More } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { useMay } from '../../lib/caller.ts'
import { currentTime } from '../../lib/clock.ts'
import type { Filters } from '../../lib/filters.ts'
import { type Pages, usePages } from '../../lib/pages.ts'
import { count } from '../../lib/time.ts'
import { Bulk } from './bulk.tsx'
import { filterOf, groupFilterOf, questionOf } from './filter.ts'
import type { ViewOptions } from './groups.tsx'
import { Letter } from './letter.tsx'
import { Selected, type Work } from './selected.tsx'
import { useGroups } from './use-groups.ts'

const pageSize = 50

/** One group: its letters, to look into and to replay or purge one, some or all of them. */
export function GroupView({ filters, bar, progress, started }: ViewOptions) {
  const { error, reason } = groupFilterOf(filters.group)
  const groups = useGroups(filters)
  const group = groups.data?.groups.find((each) => each.reason === reason && (each.error ?? '') === (error ?? ''))
  const pages = usePages('listDeadLetters', {
    question: questionOf(filters),
    queryOf: () => {
      const { state: _, labels: __, ...query } = filterOf(filters, currentTime())
      return { ...query, limit: pageSize }
    },
  })
  return (
    <>
      <p>
        <Link
          to="/dead-letters"
          search={(before: Filters) => ({ ...before, group: undefined })}
          className="text-accent hover:underline"
        >
          All dead letters
        </Link>
      </p>
      <Heading
        title={error || reasonText(reason ?? '')}
        about={
          <>
            {error && `${reasonText(reason ?? '')}. `}
            {group && (
              <>
                {count(group.count)} dead, last <Time at={group.lastAt} />, first <Time at={group.firstAt} />
              </>
            )}
          </>
        }
        actions={<Bulk of="the whole group" filterNow={() => filterOf(filters, currentTime())} started={started} />}
      />
      {progress}
      {bar}
      <Letters pages={pages} />
    </>
  )
}

function Letters({ pages }: { pages: Pages<Execution> }) {
  const { items, error } = pages
  const mayWrite = useMay('jobs:write')
  const [selected, select] = useState<ReadonlySet<string>>(new Set())
  const [work, begin] = useState<Work | null>(null)
  if (items === undefined) return error ? <Trouble error={error} again={pages.again} /> : <Loading />
  // What was replayed meanwhile is not here any more.
  const chosen = items.filter(({ executionId }) => selected.has(executionId)).map(({ executionId }) => executionId)
  const isAll = items.length > 0 && chosen.length === items.length
  const toggle = (id: string) => {
    const next = new Set(selected)
    if (!next.delete(id)) next.add(id)
    select(next)
  }
  return (
    <Panel>
      {mayWrite && items.length > 0 && (
        <div className="flex min-h-11 flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-1.5">
          <label className="flex items-center gap-2">
            <input
              type="checkbox"
              checked={isAll}
              onChange={() => select(new Set(isAll ? [] : items.map(({ executionId }) => executionId)))}
            />
            Select all {count(items.length)} shown
          </label>
          {chosen.length > 0 && (
            <span className="flex gap-2">
              <Button onClick={() => begin('replay')}>Replay {count(chosen.length)} selected…</Button>
              <Button kind="danger" onClick={() => begin('purge')}>
                Purge {count(chosen.length)} selected…
              </Button>
            </span>
          )}
        </div>
      )}
      {items.length === 0 ? (
        <Nothing title={pages.hasMore ? 'Nothing found yet' : 'No dead letters are left here'} />
      ) : (
        <ul className="divide-y divide-line">
          {items.map((letter) => (
            <Letter
              key={letter.executionId}
              letter={letter}
              {...(mayWrite && {
                selection: { isSelected: selected.has(letter.executionId), toggle: () => toggle(letter.executionId) },
              })}
            />
          ))}
        </ul>
      )}
      <More hasMore={pages.hasMore} busy={pages.busy} onMore={pages.more} />
      {work !== null && (
        <Selected
          work={work}
          ids={chosen}
          onClose={() => {
            begin(null)
            select(new Set())
          }}
        />
      )}
    </Panel>
  )
}
