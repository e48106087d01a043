/** Starts a run of a graph with a payload, and shows it. */
import type { Dag } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Field, TextArea } from '../../components/field.tsx'
import { call } from '../../lib/api.ts'
import { changed } from '../../lib/queries.ts'
import { count } from '../../lib/time.ts'
import { readPayload } from '../jobs/written.ts'

export function StartRun({ of: { dagId, name, version, steps }, onClose }: { of: Dag; onClose: () => void }) {
  const navigate = useNavigate()
  const [text, write] = useState('')
  const problem = payloadProblem(text)
  const starting = useMutation({
    mutationFn: () => {
      const payload = readPayload(text)
      return call('runDag', { params: { dagId }, body: payload === undefined ? {} : { payload } })
    },
    onSuccess: async ({ runId }) => {
      await navigate({ to: '/dag-runs/$runId', params: { runId } })
      await changed('listDagRuns')
    },
  })
  return (
    <Dialog title={`Run ${name}`} onClose={onClose}>
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault()
          if (problem === undefined) starting.mutate()
        }}
      >
        <p>
          {steps.length === 1 ? 'Its one step starts' : `Its ${count(steps.length)} steps start`} now, as version{' '}
          {version} has {steps.length === 1 ? 'it' : 'them'}.
        </p>
        <Field
          label="Payload of this run"
          about="Given to every step beside its own. JSON; may be left empty."
          problem={problem}
        >
          {(ids) => <TextArea {...ids} rows={6} value={text} onChange={({ target }) => write(target.value)} />}
        </Field>
        {starting.error && (
          <p role="alert" className="text-bad">
            {starting.error.message}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button kind="main" type="submit" disabled={starting.isPending || problem !== undefined}>
            Start run
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Of JSON that may be left empty. */
export function payloadProblem(text: string): string | undefined {
  try {
    readPayload(text)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
