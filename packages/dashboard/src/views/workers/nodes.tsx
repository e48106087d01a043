import type { InstallationNode } from '@carillon/contract/api'
import { Answer } from '../../components/answer.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateIcon } from '../../components/state-mark.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { useAsk } from '../../lib/queries.ts'
import { count, duration } from '../../lib/time.ts'

const megabyte = 1024 * 1024
const clockToleranceMs = 100

export function Nodes() {
  const nodes = useAsk('listNodes', {}, { everyMs: 10_000 })
  return (
    <Answer of={nodes}>
      {({ nodes: rows, shards }) => (
        <Panel
          title="Nodes"
          side={
            shards.leaderless === 0 ? (
              `${count(shards.count)} shards, all led`
            ) : (
              <span className="text-bad">
                <StateIcon state="DEAD" /> {count(shards.leaderless)} of {count(shards.count)} shards have no leader
              </span>
            )
          }
        >
          <Table caption="Nodes" rows={rows} keyOf={({ nodeId }) => nodeId} columns={columns} />
        </Panel>
      )}
    </Answer>
  )
}

const columns: Column<InstallationNode>[] = [
  {
    name: 'Node',
    cell: ({ name, away }) => (
      <>
        <span className="font-medium break-words">{name}</span>
        {away.length > 0 && <span className="block text-warn">cannot reach {away.join(', ')}</span>}
      </>
    ),
  },
  { name: 'Version', cell: ({ version }) => version },
  { name: 'Leads', cell: ({ shards }) => `${count(shards)} shards`, isNumber: true },
  { name: 'Worker sessions', cell: ({ workers }) => count(workers), isNumber: true },
  { name: 'CPU', cell: ({ cpu }) => `${cpu.toFixed(2)} cores`, isNumber: true },
  { name: 'Event loop', cell: ({ eventLoop }) => `${Math.round(eventLoop * 100)} %`, isNumber: true, isWide: true },
  { name: 'Memory', cell: ({ memoryBytes }) => `${count(Math.round(memoryBytes / megabyte))} MB`, isNumber: true },
  {
    name: 'Clock',
    isNumber: true,
    cell: ({ clockOffsetMs: offset }) =>
      offset === null ? (
        '–'
      ) : (
        <span className={Math.abs(offset) > clockToleranceMs ? 'text-warn' : ''}>{duration(offset)}</span>
      ),
  },
  { name: 'Started', cell: ({ startedAt }) => <Time at={startedAt} />, isNumber: true, isWide: true },
]
