/** What can be done with a run in its state. Not there for those who may only read. */
import type { DagRun } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { call } from '../../lib/api.ts'
import { useMay } from '../../lib/caller.ts'
import { count } from '../../lib/time.ts'
import { leftOf, notSucceeded } from './steps.ts'
import { runChanged } from './use-run.ts'

type Verb = 'cancelDagRun' | 'pauseDagRun' | 'resumeDagRun' | 'retryDagRun'

export function RunActions({ of: run }: { of: DagRun }) {
  const mayWrite = useMay('jobs:write')
  const [asked, ask] = useState<'cancelDagRun' | 'retryDagRun' | null>(null)
  const act = useMutation({
    mutationFn: (verb: Verb) => call(verb, { params: { runId: run.runId } }),
    onSuccess: () => ask(null),
    onSettled: runChanged,
  })
  if (!mayWrite || run.state === 'SUCCEEDED') return null
  const close = () => {
    act.reset()
    ask(null)
  }
  const confirm = { busy: act.isPending, error: act.error, onClose: close }
  const again = stepsText(notSucceeded(run.steps))
  return (
    <>
      {run.state === 'RUNNING' && !run.paused && (
        <Button disabled={act.isPending} onClick={() => act.mutate('pauseDagRun')}>
          Pause
        </Button>
      )}
      {run.state === 'RUNNING' && run.paused && (
        <Button kind="main" disabled={act.isPending} onClick={() => act.mutate('resumeDagRun')}>
          Resume
        </Button>
      )}
      {run.state === 'RUNNING' && (
        <Button kind="danger" onClick={() => ask('cancelDagRun')}>
          Cancel…
        </Button>
      )}
      {run.state !== 'RUNNING' && (
        <Button kind="main" onClick={() => ask('retryDagRun')}>
          Retry from what {run.state === 'FAILED' ? 'failed' : 'was cancelled'}: {again}…
        </Button>
      )}
      {act.error && asked === null && (
        <p role="alert" className="basis-full text-bad">
          {act.error.message}
        </p>
      )}
      {asked === 'cancelDagRun' && (
        <Confirm
          title={`Cancel this run of ${run.name}?`}
          action="Cancel run"
          keep="Keep it"
          onConfirm={() => act.mutate('cancelDagRun')}
          {...confirm}
        >
          <p>{cancelText(run)}</p>
        </Confirm>
      )}
      {asked === 'retryDagRun' && (
        <Confirm
          title={`Retry this run of ${run.name}?`}
          action={`Retry ${again}`}
          keep="Leave it"
          isHarmless
          onConfirm={() => act.mutate('retryDagRun')}
          {...confirm}
        >
          <p>{retryText(run)}</p>
        </Confirm>
      )}
    </>
  )
}

function cancelText({ steps }: DagRun): string {
  const { running, waiting } = leftOf(steps)
  const parts = [
    ...(running > 0
      ? [
          `${stepsText(running)} ${running === 1 ? 'runs and is' : 'run and are'} told to stop; after a grace the lease is taken away.`,
        ]
      : []),
    ...(waiting > 0 ? [`${stepsText(waiting)} never ${waiting === 1 ? 'starts' : 'start'}.`] : []),
    'What has succeeded is kept, and a retry goes on from there.',
  ]
  return parts.join(' ')
}

function retryText({ steps, deadlineAt }: DagRun): string {
  const again = notSucceeded(steps)
  const kept = steps.length - again
  return [
    `${stepsText(again)} ${again === 1 ? 'runs' : 'run'} again, with all attempts.`,
    ...(kept > 0
      ? [
          `${stepsText(kept)} that succeeded ${kept === 1 ? 'is' : 'are'} kept, with ${kept === 1 ? 'its result' : 'their results'}.`,
        ]
      : []),
    ...(deadlineAt === null ? [] : ['The deadline of the run no longer applies.']),
  ].join(' ')
}

function stepsText(steps: number): string {
  return steps === 1 ? '1 step' : `${count(steps)} steps`
}
