/** How far a bulk operation is. It runs on the nodes: leaving the page does not stop it. */
import type { Operation, OperationKind } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call, type OperationId } from '../lib/api.ts'
import { useMay } from '../lib/caller.ts'
import { changed, useAsk } from '../lib/queries.ts'
import { count } from '../lib/time.ts'
import { Answer } from './answer.tsx'
import { Button } from './button.tsx'
import { Panel } from './panel.tsx'
import { ProgressBar } from './progress-bar.tsx'

const askEveryMs = 1_000

const words: Record<OperationKind, { doing: string; done: string }> = {
  CANCEL: { doing: 'Cancelling', done: 'Cancelled' },
  RETRY: { doing: 'Replaying', done: 'Replayed' },
  PURGE: { doing: 'Purging', done: 'Purged' },
  BACKFILL: { doing: 'Backfilling', done: 'Backfilled' },
  COPY: { doing: 'Copying', done: 'Copied' },
}

export function OperationProgress({
  operationId,
  touches,
  onClose,
}: {
  operationId: string
  /** Asked for again as it goes on. */
  touches: readonly OperationId[]
  onClose: () => void
}) {
  const [isOver, over] = useState(false)
  const operation = useAsk('getOperation', { params: { operationId } }, isOver ? {} : { everyMs: askEveryMs })
  const done = operation.data?.done
  const state = operation.data?.state
  useEffect(() => {
    over(state !== undefined && state !== 'RUNNING')
  }, [state])
  // When it has done more, and when it is over.
  useEffect(() => {
    void changed(...touches)
  }, [done, state])
  return (
    <Panel className="mb-4">
      <Answer of={operation}>{(answer) => <Shown operation={answer} onClose={onClose} />}</Answer>
    </Panel>
  )
}

function Shown({ operation, onClose }: { operation: Operation; onClose: () => void }) {
  const { operationId, kind, state, total, done, skipped, ratePerSec, error } = operation
  const mayStop = useMay('jobs:write') && state === 'RUNNING'
  const stop = useMutation({
    mutationFn: () => call('cancelOperation', { params: { operationId } }),
    onSettled: () => changed('getOperation'),
  })
  const examined = done + skipped
  const share = state === 'SUCCEEDED' ? 1 : total === null ? null : total === 0 ? 0 : examined / total
  return (
    <div className="space-y-2 px-4 py-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p aria-live="polite" className="font-medium">
          {textOf(operation)}
          {skipped > 0 && (
            <span className="font-normal text-soft"> {count(skipped)} had changed and were left alone.</span>
          )}
          {ratePerSec !== null && state === 'RUNNING' && (
            <span className="font-normal text-soft"> At most {count(ratePerSec)} a second.</span>
          )}
        </p>
        <div className="flex gap-2">
          {mayStop && (
            <Button disabled={stop.isPending} onClick={() => stop.mutate()}>
              Stop
            </Button>
          )}
          <Button kind="quiet" onClick={onClose}>
            {state === 'RUNNING' ? 'Hide' : 'Dismiss'}
          </Button>
        </div>
      </div>
      <ProgressBar share={share} label={`${words[kind].doing} executions`} />
      {error !== null && <p className="text-bad">{error}</p>}
    </div>
  )
}

function textOf({ kind, state, total, done }: Operation): string {
  const { doing, done: did } = words[kind]
  if (state === 'RUNNING') return `${doing} ${count(done)}${total === null ? '' : ` of ${count(total)}`}…`
  if (state === 'SUCCEEDED') return `${did} ${count(done)}.`
  if (state === 'CANCELLED') return `Stopped. ${did} ${count(done)}${total === null ? '' : ` of ${count(total)}`}.`
  return `Failed after ${count(done)}.`
}
