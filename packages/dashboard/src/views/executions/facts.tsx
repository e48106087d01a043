import type { Execution } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CopyButton } from '../../components/copy-button.tsx'
import { Late, reasonText, Took } from '../../components/execution-columns.tsx'
import { Facts, Panel } from '../../components/panel.tsx'
import { Time } from '../../components/time.tsx'

export function ExecutionFacts({ execution }: { execution: Execution }) {
  const { executionId, jobId, dagRunId, name, handler, origin, reason, labels, traceId, workerId, skippedCount } =
    execution
  const isSubmission = jobId === executionId
  const facts: [string, ReactNode][] = [
    ...(dagRunId === null ? [] : [['Run', <RunLink key="run" runId={dagRunId} />] as [string, ReactNode]]),
    ...(isSubmission || dagRunId !== null
      ? []
      : [['Job', <JobLink key="job" jobId={jobId} name={name} />] as [string, ReactNode]]),
    ['Handler', <FilterLink key="handler" by="handler" text={handler} />],
    ['Pool', <FilterLink key="pool" by="pool" text={execution.pool} />],
    ['Priority', reasonText(execution.priority)],
    ['Origin', reasonText(origin)],
    ...(reason === null ? [] : [['Reason', reasonText(reason)] as [string, ReactNode]]),
    ...(skippedCount === null ? [] : [['Occurrences', skippedCount] as [string, ReactNode]]),
    ['Attempts', `${execution.attempt} of ${execution.maxAttempts}`],
    ['Scheduled for', <Time key="for" at={execution.scheduledFor} exact />],
    ...(execution.dueAt === execution.scheduledFor
      ? []
      : [['Due', <Time key="due" at={execution.dueAt} exact />] as [string, ReactNode]]),
    ['Fired', <Time key="fired" at={execution.firedAt} exact />],
    ['Started', <Time key="started" at={execution.startedAt} exact />],
    ['Finished', <Time key="finished" at={execution.finishedAt} exact />],
    ['Late', <Late key="late" ms={execution.latenessMs} />],
    ['Took', <Took key="took" of={execution} />],
    [
      'Worker',
      workerId === null ? (
        '–'
      ) : (
        <Link
          key="worker"
          to="/workers/$workerId"
          params={{ workerId }}
          className="font-mono text-[13px] break-all text-accent hover:underline"
        >
          {workerId}
        </Link>
      ),
    ],
    ...(traceId === null ? [] : [['Trace', <Id key="trace" id={traceId} name="trace id" />] as [string, ReactNode]]),
    ...Object.entries(labels).map(([label, text]): [string, ReactNode] => [
      label,
      <FilterLink key={label} by="label" text={text} value={`${label}:${text}`} />,
    ]),
  ]
  return (
    <Panel title="Facts">
      <Facts facts={facts} />
    </Panel>
  )
}

function JobLink({ jobId, name }: { jobId: string; name: string | null }) {
  return (
    <Link to="/jobs/$jobId" params={{ jobId }} className="font-medium text-accent hover:underline">
      {name ?? jobId}
    </Link>
  )
}

/** Of a step: the run of the graph that it belongs to. */
function RunLink({ runId }: { runId: string }) {
  return (
    <Link
      to="/dag-runs/$runId"
      params={{ runId }}
      className="font-mono text-[13px] break-all text-accent hover:underline"
    >
      {runId}
    </Link>
  )
}

/** Leads to executions that are alike. */
function FilterLink({ by, text, value = text }: { by: string; text: string; value?: string }) {
  return (
    <Link to="/executions" search={{ [by]: value }} className="break-all text-accent hover:underline">
      {text}
    </Link>
  )
}

export function Id({ id, name }: { id: string; name: string }) {
  return (
    <>
      <code className="font-mono text-[13px] break-all">{id}</code> <CopyButton text={id} name={name} />
    </>
  )
}
