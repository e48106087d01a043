import type { Execution as ExecutionRecord } from '@carillon/contract'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Answer } from '../../components/answer.tsx'
import { LinkButton } from '../../components/button.tsx'
import { Heading } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { Time } from '../../components/time.tsx'
import { useAsk } from '../../lib/queries.ts'
import { Actions } from './actions.tsx'
import { Data } from './data.tsx'
import { Explain } from './explain.tsx'
import { ExecutionFacts, Id } from './facts.tsx'
import { isEnd } from './filter.ts'
import { Logs } from './logs.tsx'
import { Progress } from './progress.tsx'
import { Timeline } from './timeline.tsx'
import { isToCome, useExecution } from './use-execution.ts'

const explainEveryMs = 3_000

export default function Execution() {
  const { executionId } = useParams({ strict: false }) as { executionId: string }
  const execution = useExecution(executionId)
  if (execution.data === undefined && isToCome(execution.error)) return <ToCome executionId={executionId} />
  return (
    <>
      {execution.data === undefined && <Heading title="Execution" />}
      <Answer of={execution}>{(known) => <Known key={executionId} execution={known} />}</Answer>
    </>
  )
}

function Known({ execution }: { execution: ExecutionRecord }) {
  const { executionId, state, name, handler, progress } = execution
  const hasEnded = isEnd(state)
  const explanation = useAsk(
    'explainExecution',
    { params: { executionId } },
    { enabled: !hasEnded, ...(!hasEnded && { everyMs: explainEveryMs }) },
  )
  const isCancelling = state === 'RUNNING' && explanation.data?.reasons[0]?.code === 'CANCELLING'
  const title = name ?? handler
  return (
    <>
      <p>
        <Link to="/executions" className="text-accent hover:underline">
          All executions
        </Link>
      </p>
      <Heading
        title={title}
        about={
          <Line>
            <StateMark state={isCancelling ? 'CANCELLING' : state} />
            <span>
              scheduled <Time at={execution.scheduledFor} />
            </span>
            <span>
              <Id id={executionId} name="execution id" />
            </span>
          </Line>
        }
        actions={<Actions executionId={executionId} state={state} isCancelling={isCancelling} name={title} />}
      />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="grid min-w-0 gap-4">
          {!hasEnded && <Explain explanation={explanation} />}
          <Timeline execution={execution} />
          {progress !== null && !hasEnded && <Progress progress={progress} />}
          <Logs executionId={executionId} hasEnded={hasEnded} />
          <Data execution={execution} />
        </div>
        <ExecutionFacts execution={execution} />
      </div>
    </>
  )
}

/** A one-shot before its time: a job until then. */
function ToCome({ executionId }: { executionId: string }) {
  const explanation = useAsk('explainExecution', { params: { executionId } }, { everyMs: explainEveryMs })
  return (
    <>
      <Heading
        title="Still to come"
        about="It becomes an execution when it is due; until then it is a job."
        actions={
          <>
            <LinkButton to="/jobs/$jobId" params={{ jobId: executionId }}>
              Open the job
            </LinkButton>
            <Actions executionId={executionId} state="PENDING" isCancelling={false} name="It" />
          </>
        }
      />
      <Explain explanation={explanation} />
    </>
  )
}

function Line({ children }: { children: ReactNode }) {
  return <span className="flex flex-wrap items-center gap-x-3 gap-y-1">{children}</span>
}
