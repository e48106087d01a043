/** Runs occurrences of a time that has passed: counts them first, then starts the operation that runs them. */
import type { BackfillInput, DryRun, Job } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Field, Input } from '../../components/field.tsx'
import { useNow } from '../../components/time.tsx'
import { call } from '../../lib/api.ts'
import { count, viewerZone } from '../../lib/time.ts'

const dayMs = 86_400_000

export function Backfill({
  of: { jobId, name },
  onClose,
  onOperation,
}: {
  of: Job
  onClose: () => void
  onOperation: (operationId: string) => void
}) {
  const now = useNow()
  const [from, setFrom] = useState(() => localTime(now.getTime() - dayMs))
  const [to, setTo] = useState(() => localTime(now.getTime()))
  const [includeSkipped, setIncludeSkipped] = useState(false)
  const [concurrency, setConcurrency] = useState(10)
  const inputOf = (dryRun: boolean): BackfillInput => ({
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    includeSkipped,
    concurrency,
    dryRun,
  })
  const counting = useMutation({
    mutationFn: async () => (await call('backfillJob', { params: { jobId }, body: inputOf(true) })) as DryRun,
  })
  const starting = useMutation({
    mutationFn: async () => {
      const answer = await call('backfillJob', { params: { jobId }, body: inputOf(false) })
      if ('operationId' in answer) onOperation(answer.operationId)
      onClose()
    },
  })
  const found = counting.data
  const error = starting.error ?? counting.error
  const isComplete = from !== '' && to !== ''
  return (
    <Dialog title={`Backfill ${name}`} onClose={onClose}>
      {/* What was counted holds for what was asked: another time is counted again. */}
      <form
        className="space-y-3"
        onChange={() => counting.reset()}
        onSubmit={(event) => {
          event.preventDefault()
          counting.mutate()
        }}
      >
        <p>Runs what its schedule named in a time that has passed and that has no run, behind live work.</p>
        <div className="grid gap-3 sm:grid-cols-2">
          <Field label="From" about={viewerZone}>
            {(ids) => <Input {...ids} {...clock} value={from} onChange={({ target }) => setFrom(target.value)} />}
          </Field>
          <Field label="To, exclusive" about={viewerZone}>
            {(ids) => <Input {...ids} {...clock} value={to} onChange={({ target }) => setTo(target.value)} />}
          </Field>
          <Field label="Unfinished at once, at most">
            {(ids) => (
              <Input
                {...ids}
                type="number"
                min={1}
                max={10_000}
                value={concurrency}
                onChange={({ target }) => setConcurrency(Number(target.value))}
              />
            )}
          </Field>
        </div>
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            checked={includeSkipped}
            onChange={({ target }) => setIncludeSkipped(target.checked)}
          />
          Also run what was skipped
        </label>
        <p role="status" className="min-h-5 font-medium">
          {found && foundText(found)}
        </p>
        {error && (
          <p role="alert" className="text-bad">
            {error.message}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          {found && found.count > 0 ? (
            <Button kind="main" disabled={starting.isPending} onClick={() => starting.mutate()}>
              Run {countText(found)}
            </Button>
          ) : (
            <Button kind="main" type="submit" disabled={!isComplete || counting.isPending}>
              Count them
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  )
}

const clock = { type: 'datetime-local', step: 1, required: true } as const

function foundText(found: DryRun): string {
  return found.count === 0 ? 'Nothing is missing there.' : `${countText(found)} would run.`
}

function countText({ count: found, exact }: DryRun): string {
  return `${exact ? '' : 'more than '}${count(found)}`
}

/** As a field of the type datetime-local takes it. */
function localTime(ms: number): string {
  const date = new Date(ms)
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
