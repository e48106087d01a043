/** One worker: where it works, for what, and what it holds at this moment. */
import type { WorkerDetail } from '@carillon/contract/api'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Answer, Nothing } from '../../components/answer.tsx'
import { LinkButton } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Facts, Heading, Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { Refusal } from '../../lib/api.ts'
import { useAsk } from '../../lib/queries.ts'
import { count } from '../../lib/time.ts'

const askEveryMs = 3_000

export default function Worker() {
  const { workerId } = useParams({ strict: false }) as { workerId: string }
  const worker = useAsk('getWorker', { params: { workerId } }, { everyMs: askEveryMs })
  const isGone = worker.error instanceof Refusal && worker.error.status === 404
  return (
    <>
      <p>
        <Link to="/workers" className="text-accent hover:underline">
          All workers
        </Link>
      </p>
      {isGone ? (
        <>
          <Heading title="Worker" />
          <Nothing title="This worker is not registered any more">
            <p>It has left, or was silent for so long that it was taken for lost.</p>
            <LinkButton to="/workers">Workers there are</LinkButton>
          </Nothing>
        </>
      ) : (
        <>
          {worker.data === undefined && <Heading title="Worker" />}
          <Answer of={worker}>{(known) => <Known worker={known} />}</Answer>
        </>
      )}
    </>
  )
}

function Known({ worker }: { worker: WorkerDetail }) {
  const { name, state, seenAt, registeredAt, held, complete, running } = worker
  return (
    <>
      <Heading
        title={name}
        about={
          <span className="flex flex-wrap items-center gap-x-3">
            <StateMark state={state} />
            <span>
              heard of <Time at={seenAt} />
            </span>
            <span>
              registered <Time at={registeredAt} />
            </span>
          </span>
        }
      />
      <div className="grid items-start gap-4 xl:grid-cols-3">
        <div className="min-w-0 space-y-4 xl:col-span-2">
          <Panel title="Holds" side={complete ? undefined : `the newest ${count(held.length)}`}>
            {held.length === 0 ? (
              <Nothing title={running === 0 ? 'Running nothing' : 'Running nothing for this tenant'} />
            ) : (
              <Table
                caption="Executions that the worker holds"
                rows={held}
                keyOf={({ executionId }) => executionId}
                columns={heldColumns}
              />
            )}
          </Panel>
        </div>
        <div className="min-w-0 space-y-4">
          <Panel title="Facts">
            <Facts facts={factsOf(worker)} />
          </Panel>
          <Panel title="Serves">
            <Table
              caption="Pools that the worker serves"
              rows={worker.pools}
              keyOf={({ pool }) => pool}
              columns={poolColumns}
            />
          </Panel>
        </div>
      </div>
    </>
  )
}

const heldColumns: Column<WorkerDetail['held'][number]>[] = [
  {
    name: 'Execution',
    cell: ({ executionId, name, handler }) => (
      <Link
        to="/executions/$executionId"
        params={{ executionId }}
        className="font-medium break-words text-accent hover:underline"
      >
        {name ?? handler}
      </Link>
    ),
  },
  { name: 'Handler', cell: ({ handler }) => handler, isWide: true },
  { name: 'Pool', cell: ({ pool }) => pool },
  { name: 'Attempt', cell: ({ attempt, began }) => `${attempt}${began ? '' : ', not begun'}`, isNumber: true },
  { name: 'Since', cell: ({ leasedAt }) => <Time at={leasedAt} />, isNumber: true },
]

const poolColumns: Column<WorkerDetail['pools'][number]>[] = [
  {
    name: 'Pool',
    cell: ({ pool }) => (
      <Link to="/executions" search={{ pool }} className="break-all text-accent hover:underline">
        {pool}
      </Link>
    ),
  },
  { name: 'Slots', cell: ({ slots }) => count(slots), isNumber: true },
  { name: 'Handlers', cell: ({ handlers }) => <span className="break-words">{handlers.join(', ')}</span> },
]

function factsOf({ workerId, tenant, running, nodeId }: WorkerDetail): [string, ReactNode][] {
  return [
    ['Works for', tenant ?? 'all tenants'],
    ['Running', count(running)],
    ['Node', <NodeName key="node" nodeId={nodeId} />],
    [
      'Id',
      <span key="id">
        <code className="font-mono text-[13px] break-all">{workerId}</code>{' '}
        <CopyButton text={workerId} name="worker id" />
      </span>,
    ],
  ]
}

/** A node is known by its name while it runs. */
function NodeName({ nodeId }: { nodeId: string }) {
  const nodes = useAsk('listNodes', {}, { everyMs: 10_000 })
  const node = nodes.data?.nodes.find((each) => each.nodeId === nodeId)
  return node ? node.name : <code className="font-mono text-[13px] break-all">{nodeId}</code>
}
