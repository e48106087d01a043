/** One job: what it is, when it fires, how its runs went, what it was before; and what can be done with it. */
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Answer } from '../../components/answer.tsx'
import { Json } from '../../components/json.tsx'
import { OperationProgress } from '../../components/operation-progress.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { useAsk } from '../../lib/queries.ts'
import { FireList, lookedAhead } from './fire-list.tsx'
import { JobActions } from './job-actions.tsx'
import { JobFacts } from './job-facts.tsx'
import { Paused } from './paused.tsx'
import { RecentRuns } from './recent-runs.tsx'
import { RunStrip } from './run-strip.tsx'
import { Versions } from './versions.tsx'

const askEveryMs = 2_000
const touched = ['getJob', 'listJobExecutions'] as const

export default function JobView() {
  const { jobId } = useParams({ strict: false }) as { jobId: string }
  const job = useAsk('getJob', { params: { jobId } }, { everyMs: askEveryMs })
  const fires = useAsk('nextFires', { params: { jobId }, query: { count: lookedAhead } }, { everyMs: askEveryMs * 5 })
  const [operationId, follow] = useState<string | null>(null)
  return (
    <Answer of={job}>
      {(found) => (
        <>
          <p>
            <Link to="/jobs" className="text-accent hover:underline">
              All jobs
            </Link>
          </p>
          <Heading
            title={found.name}
            about={
              <span className="inline-flex flex-wrap gap-x-3">
                <StateMark state={found.state} />
                {found.key !== null && found.key !== found.name && (
                  <span className="font-mono break-all">{found.key}</span>
                )}
                <span>Version {found.version}</span>
              </span>
            }
            actions={<JobActions of={found} onOperation={follow} />}
          />
          <Paused of={found} />
          {operationId !== null && (
            <OperationProgress operationId={operationId} touches={touched} onClose={() => follow(null)} />
          )}
          <div className="space-y-4">
            <RunStrip jobId={found.jobId} />
            <div className="grid items-start gap-4 lg:grid-cols-2">
              <Panel title="Definition">
                <JobFacts of={found} />
                {found.payload !== null && (
                  <div className="border-t border-line">
                    <Json value={found.payload} name="Payload" />
                  </div>
                )}
              </Panel>
              <Panel title="Next fires" side={found.state === 'PAUSED' ? 'If it were resumed now' : undefined}>
                <Answer of={fires}>{(answer) => <FireList of={answer} most={10} />}</Answer>
              </Panel>
            </div>
            <RecentRuns jobId={found.jobId} />
            <Versions jobId={found.jobId} />
          </div>
        </>
      )}
    </Answer>
  )
}
