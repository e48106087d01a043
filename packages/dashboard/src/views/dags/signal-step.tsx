/** Signals a step that waits for it: an approval, or that something has happened elsewhere. */
import type { DagRunStep } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Field, TextArea } from '../../components/field.tsx'
import { call } from '../../lib/api.ts'
import { useMay } from '../../lib/caller.ts'
import { readPayload } from '../jobs/written.ts'
import { payloadProblem } from './start-run.tsx'
import { runChanged } from './use-run.ts'

export function SignalStep({ runId, step }: { runId: string; step: DagRunStep }) {
  const mayWrite = useMay('jobs:write')
  const [asked, ask] = useState(false)
  if (!mayWrite || step.waitFor !== 'SIGNAL' || step.state !== 'RUNNING') return null
  return (
    <>
      <Button kind="main" onClick={() => ask(true)}>
        Signal…
      </Button>
      {asked && <SignalDialog runId={runId} name={step.name} onClose={() => ask(false)} />}
    </>
  )
}

function SignalDialog({ runId, name, onClose }: { runId: string; name: string; onClose: () => void }) {
  const [text, write] = useState('{"approved": true}')
  const problem = payloadProblem(text)
  const signalling = useMutation({
    mutationFn: () => {
      const payload = readPayload(text)
      return call('signalStep', { params: { runId, step: name }, body: payload === undefined ? {} : { payload } })
    },
    onSuccess: onClose,
    onSettled: runChanged,
  })
  return (
    <Dialog title={`Signal ${name}`} onClose={onClose}>
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault()
          if (problem === undefined) signalling.mutate()
        }}
      >
        <Field
          label="Result of the step"
          about="Given to the steps that depend on it. JSON; may be left empty."
          problem={problem}
        >
          {(ids) => <TextArea {...ids} rows={4} value={text} onChange={({ target }) => write(target.value)} />}
        </Field>
        {signalling.error && (
          <p role="alert" className="text-bad">
            {signalling.error.message}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button kind="main" type="submit" disabled={signalling.isPending || problem !== undefined}>
            Signal
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
