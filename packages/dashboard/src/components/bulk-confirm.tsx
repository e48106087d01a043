/** Asks before something is done to every execution that a filter selects: says how many these are, and takes a rate. */
import type { ExecutionFilter, Operation } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../lib/api.ts'
import { useAsk } from '../lib/queries.ts'
import { count } from '../lib/time.ts'
import { Answer } from './answer.tsx'
import { Confirm } from './dialog.tsx'
import { Field, Input } from './field.tsx'

export type BulkAction = keyof typeof bulkActions

const bulkActions = {
  retryExecutions: { title: 'Retry executions', verb: 'Retry', keep: 'Leave them', isHarmless: true },
  cancelExecutions: { title: 'Cancel executions', verb: 'Cancel', keep: 'Keep them', isHarmless: false },
  replayDeadLetters: { title: 'Replay dead letters', verb: 'Replay', keep: 'Leave them', isHarmless: true },
  purgeDeadLetters: { title: 'Purge dead letters', verb: 'Purge', keep: 'Keep them', isHarmless: false },
} as const

export function BulkConfirm({
  action,
  filter,
  about,
  onStarted,
  onClose,
}: {
  action: BulkAction
  /** Must not change while this is shown: what was counted is what is touched. */
  filter: ExecutionFilter
  /** Which they are and what becomes of them, in words. */
  about: string
  onStarted: (operation: Operation) => void
  onClose: () => void
}) {
  const { title, verb, keep, isHarmless } = bulkActions[action]
  const [rate, setRate] = useState('')
  const counted = useAsk(action, { body: { filter, dryRun: true } })
  const start = useMutation({
    mutationFn: () => call(action, { body: { filter, ...(rate !== '' && { ratePerSec: Number(rate) }) } }),
    onSuccess: (answer) => {
      if ('operationId' in answer) onStarted(answer)
    },
  })
  const dryRun = counted.data && 'count' in counted.data ? counted.data : undefined
  return (
    <Confirm
      title={title}
      action={dryRun && dryRun.count > 0 ? `${verb} ${amountOf(dryRun)}` : verb}
      keep={keep}
      isHarmless={isHarmless}
      busy={start.isPending || !dryRun || dryRun.count === 0}
      error={start.error}
      onConfirm={() => start.mutate()}
      onClose={onClose}
    >
      <Answer of={counted}>
        {() => (
          <p className="text-base">
            <strong>{dryRun && amountOf(dryRun)}</strong>{' '}
            {dryRun?.count === 1 && dryRun.exact ? 'execution matches' : 'executions match'}.
          </p>
        )}
      </Answer>
      <p className="mt-1 text-soft">{about}</p>
      <div className="mt-4 max-w-60">
        <Field label="Executions per second" about="Leave empty for no limit.">
          {(ids) => (
            <Input
              {...ids}
              type="number"
              min={0.1}
              max={100_000}
              step="any"
              inputMode="decimal"
              value={rate}
              onChange={({ target }) => setRate(target.value)}
            />
          )}
        </Field>
      </div>
    </Confirm>
  )
}

function amountOf({ count: amount, exact }: { count: number; exact: boolean }): string {
  return exact ? count(amount) : `more than ${count(amount)}`
}
