/** What can be done with a job. Not there for those who may only read. */
import type { Job } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button, LinkButton } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { call } from '../../lib/api.ts'
import { useMay } from '../../lib/caller.ts'
import { changed } from '../../lib/queries.ts'
import { Backfill } from './backfill.tsx'
import { Trigger } from './trigger.tsx'

export function JobActions({ of: job, onOperation }: { of: Job; onOperation: (operationId: string) => void }) {
  const mayWrite = useMay('jobs:write')
  const [shown, show] = useState<'trigger' | 'backfill' | 'delete' | null>(null)
  const { jobId, state, type } = job
  const turn = useMutation({
    mutationFn: (verb: 'pauseJob' | 'resumeJob') => call(verb, { params: { jobId } }),
    onSettled: () => changed('getJob', 'listJobs', 'nextFires', 'listAudit', 'listJobExecutions'),
  })
  const recurs = type === 'CRON' || type === 'INTERVAL' || type === 'AFTER'
  // What ran once and is over is history.
  if (!mayWrite || state === 'DELETED' || (state === 'COMPLETED' && !recurs)) return null
  const close = () => show(null)
  return (
    <>
      {state === 'ACTIVE' && (
        <Button disabled={turn.isPending} onClick={() => turn.mutate('pauseJob')}>
          Pause
        </Button>
      )}
      {state === 'PAUSED' && (
        <Button kind="main" disabled={turn.isPending} onClick={() => turn.mutate('resumeJob')}>
          Resume
        </Button>
      )}
      {recurs && <Button onClick={() => show('trigger')}>Trigger…</Button>}
      {type !== 'AFTER' && recurs && <Button onClick={() => show('backfill')}>Backfill…</Button>}
      <LinkButton to="/jobs/$jobId/edit" params={{ jobId }}>
        Edit
      </LinkButton>
      <Button kind="danger" onClick={() => show('delete')}>
        Delete…
      </Button>
      {turn.error && (
        <p role="alert" className="basis-full text-bad">
          {turn.error.message}
        </p>
      )}
      {shown === 'trigger' && <Trigger of={job} onClose={close} />}
      {shown === 'backfill' && <Backfill of={job} onClose={close} onOperation={onOperation} />}
      {shown === 'delete' && <Delete of={job} onClose={close} />}
    </>
  )
}

function Delete({ of: { jobId, name }, onClose }: { of: Job; onClose: () => void }) {
  const navigate = useNavigate()
  const [cancelRunning, setCancelRunning] = useState(false)
  const deleting = useMutation({
    mutationFn: () => call('deleteJob', { params: { jobId }, query: { cancelRunning } }),
    onSuccess: async () => {
      await navigate({ to: '/jobs' })
      await changed('listJobs')
    },
  })
  return (
    <Confirm
      title={`Delete ${name}?`}
      action="Delete job"
      busy={deleting.isPending}
      error={deleting.error}
      onConfirm={() => deleting.mutate()}
      onClose={onClose}
    >
      <p>
        It does not fire again, and its executions that have not started are cancelled. Its history stays until the
        retention ends. This cannot be undone.
      </p>
      <label className="mt-3 flex items-center gap-2">
        <input type="checkbox" checked={cancelRunning} onChange={({ target }) => setCancelRunning(target.checked)} />
        Also cancel what is running
      </label>
    </Confirm>
  )
}
