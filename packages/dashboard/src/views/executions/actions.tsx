import type { Execution } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { call } from '../../lib/api.ts'
import { useMay } from '../../lib/caller.ts'
import { isEnd, isRetryable } from './filter.ts'
import { executionChanged } from './use-execution.ts'

type Action = 'retry' | 'cancel'

const words = {
  retry: { title: 'Retry this execution', action: 'Retry', keep: 'Leave it' },
  cancel: { title: 'Cancel this execution', action: 'Cancel execution', keep: 'Keep it' },
} as const

/** What can be done to an execution in its state, by a caller who may. */
export function Actions({
  executionId,
  state,
  isCancelling,
  name,
}: Pick<Execution, 'executionId' | 'state'> & { isCancelling: boolean; name: string }) {
  const mayWrite = useMay('jobs:write')
  const [asked, ask] = useState<Action | null>(null)
  const act = useMutation({
    mutationFn: async (action: Action) => {
      if (action === 'retry') await call('retryExecution', { params: { executionId } })
      else await call('cancelExecution', { params: { executionId } })
    },
    onSuccess: async () => {
      ask(null)
      await executionChanged()
    },
  })
  if (!mayWrite) return null
  return (
    <>
      {isRetryable(state) && (
        <Button kind="main" onClick={() => ask('retry')}>
          Retry…
        </Button>
      )}
      {!isEnd(state) && (
        <Button kind="danger" disabled={isCancelling} onClick={() => ask('cancel')}>
          {isCancelling ? 'Cancelling' : 'Cancel…'}
        </Button>
      )}
      {asked && (
        <Confirm
          {...words[asked]}
          isHarmless={asked === 'retry'}
          busy={act.isPending}
          error={act.error}
          onConfirm={() => act.mutate(asked)}
          onClose={() => {
            act.reset()
            ask(null)
          }}
        >
          <p>{aboutOf(asked, state, name)}</p>
        </Confirm>
      )}
    </>
  )
}

function aboutOf(action: Action, state: string, name: string): string {
  if (action === 'retry') return `${name} runs again, as the same execution, with all its attempts.`
  if (state === 'RUNNING')
    return `${name} runs now. Its handler is told to stop, and after a grace its lease is taken from it.`
  return `${name} will not start.`
}
