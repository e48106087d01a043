import type { Load } from '@carillon/contract/api'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Answer, Nothing } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { Table } from '../../components/table.tsx'
import { call } from '../../lib/api.ts'
import { useCaller, useMay } from '../../lib/caller.ts'
import { changed, useAsk } from '../../lib/queries.ts'
import { count, duration, shortCount } from '../../lib/time.ts'

type PoolLoad = Load['pools'][number]

export function Pools() {
  const load = useAsk('getLoad', {}, { everyMs: 3_000 })
  const [pausing, pause] = useState<PoolLoad | null>(null)
  const mayChange = useMay('admin')
  const { tenant } = useCaller()
  const resume = useMutation({
    mutationFn: (name: string) => call('resumePool', { params: { name } }),
    onSettled: () => changed('getLoad'),
  })
  // A tenant's token changes its own pools only.
  const isMine = (pool: PoolLoad) => mayChange && (tenant === null || pool.tenant === tenant)
  return (
    <Panel title="Pools">
      <Answer of={load}>
        {({ pools }) =>
          pools.length === 0 ? (
            <Nothing title="No pools yet">A pool appears when a worker serves it, or when an admin creates it.</Nothing>
          ) : (
            <Table
              caption="Pools"
              rows={pools}
              keyOf={({ name, tenant: owner }) => `${owner} ${name}`}
              columns={[
                { name: 'Pool', cell: ({ name }) => <span className="font-medium break-words">{name}</span> },
                { name: 'State', cell: ({ paused }) => <StateMark state={paused ? 'PAUSED' : 'ACTIVE'} /> },
                { name: 'Owner', cell: ({ tenant: owner }) => owner ?? 'installation', isWide: true },
                { name: 'Workers', cell: ({ workers }) => count(workers), isNumber: true },
                {
                  name: 'Busy slots',
                  cell: ({ running, slots }) => `${shortCount(running)} of ${shortCount(slots)}`,
                  isNumber: true,
                },
                { name: 'Ready', cell: (pool) => <Ready pool={pool} />, isNumber: true },
                { name: 'Retrying', cell: ({ retrying }) => shortCount(retrying), isNumber: true },
                {
                  name: 'Oldest waits',
                  cell: ({ oldestReadyMs }) => (oldestReadyMs === null ? '–' : duration(oldestReadyMs)),
                  isNumber: true,
                },
                ...(mayChange
                  ? [
                      {
                        name: 'Actions',
                        isNumber: true,
                        cell: (pool: PoolLoad) =>
                          isMine(pool) &&
                          (pool.paused ? (
                            <Button disabled={resume.isPending} onClick={() => resume.mutate(pool.name)}>
                              Resume<span className="sr-only"> {pool.name}</span>
                            </Button>
                          ) : (
                            <Button onClick={() => pause(pool)}>
                              Pause<span className="sr-only"> {pool.name}</span>
                            </Button>
                          )),
                      },
                    ]
                  : []),
              ]}
            />
          )
        }
      </Answer>
      {pausing && <PauseDialog pool={pausing} onClose={() => pause(null)} />}
    </Panel>
  )
}

function Ready({ pool: { ready, lanes } }: { pool: PoolLoad }) {
  const words = lanes
    .filter((lane) => lane.ready > 0)
    .map((lane) => `${shortCount(lane.ready)} ${lane.priority.toLowerCase()}`)
  return (
    <>
      {shortCount(ready)}
      {words.length > 1 && <span className="block text-xs text-soft">{words.join(', ')}</span>}
    </>
  )
}

function PauseDialog({ pool, onClose }: { pool: PoolLoad; onClose: () => void }) {
  const pause = useMutation({
    mutationFn: () => call('pausePool', { params: { name: pool.name } }),
    onSuccess: () => {
      onClose()
      return changed('getLoad')
    },
  })
  return (
    <Confirm
      title={`Pause the pool ${pool.name}?`}
      action="Pause it"
      busy={pause.isPending}
      error={pause.error}
      onConfirm={() => pause.mutate()}
      onClose={onClose}
    >
      <p>
        Nothing more is leased from it: {count(pool.ready)} ready{' '}
        {pool.ready === 1 ? 'execution waits' : 'executions wait'} until it is resumed. What runs ({count(pool.running)}
        ) goes on.
      </p>
    </Confirm>
  )
}
