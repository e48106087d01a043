/** Runs a job now, apart from its schedule; with another payload for this run if one is written. */
import type { Job } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Field, TextArea } from '../../components/field.tsx'
import { call } from '../../lib/api.ts'
import { changed } from '../../lib/queries.ts'
import { readPayload, writePayload } from './written.ts'

export function Trigger({ of: { jobId, name, payload }, onClose }: { of: Job; onClose: () => void }) {
  const own = writePayload(payload ?? undefined)
  const [text, write] = useState(own)
  const problem = problemIn(text)
  const triggering = useMutation({
    mutationFn: () => {
      const body = text === own ? {} : { payload: readPayload(text) ?? null }
      return call('triggerJob', { params: { jobId }, body })
    },
    onSettled: () => changed('getJob', 'listJobExecutions', 'listJobs'),
  })
  return (
    <Dialog title={`Trigger ${name}`} onClose={onClose}>
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault()
          if (problem === undefined) triggering.mutate()
        }}
      >
        <p>It runs once, now. Its schedule stays as it is.</p>
        <Field label="Payload of this run" about="The job’s own stays as it is." problem={problem}>
          {(ids) => <TextArea {...ids} rows={6} value={text} onChange={({ target }) => write(target.value)} />}
        </Field>
        {triggering.error && (
          <p role="alert" className="text-bad">
            {triggering.error.message}
          </p>
        )}
        {triggering.data && (
          <p role="status">
            Triggered:{' '}
            <Link
              to="/executions/$executionId"
              params={{ executionId: triggering.data.executionId }}
              className="text-accent underline"
            >
              see its execution
            </Link>
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{triggering.data ? 'Done' : 'Cancel'}</Button>
          <Button kind="main" type="submit" disabled={triggering.isPending || problem !== undefined}>
            {triggering.data ? 'Trigger again' : 'Trigger now'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function problemIn(text: string): string | undefined {
  try {
    readPayload(text)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
