/** Replays or purges letters that were chosen by hand, one request each: bulk work takes a filter, not ids. */
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Confirm, Dialog } from '../../components/dialog.tsx'
import { ProgressBar } from '../../components/progress-bar.tsx'
import { call } from '../../lib/api.ts'
import { changed } from '../../lib/queries.ts'
import { count } from '../../lib/time.ts'

/** Requests at a time. */
const lanes = 4

const works = {
  replay: {
    ask: (executionId: string) => call('retryExecution', { params: { executionId } }),
    title: 'Replay selected dead letters',
    verb: 'Replay',
    doing: 'Replaying',
    done: 'Replayed',
    about: (some: string, one: boolean) =>
      `${some} ${one ? 'execution runs' : 'executions run'} again, with all attempts.`,
  },
  purge: {
    ask: (executionId: string) => call('purgeDeadLetter', { params: { executionId } }),
    title: 'Purge selected dead letters',
    verb: 'Purge',
    doing: 'Purging',
    done: 'Purged',
    about: (some: string, one: boolean) =>
      `${some} ${one ? 'dead letter is' : 'dead letters are'} struck off this list. What ran stays in the history until it ends.`,
  },
} as const

export type Work = keyof typeof works

interface Run {
  ids: readonly string[]
  done: number
  refused: string[]
}

export function Selected({ work, ids, onClose }: { work: Work; ids: readonly string[]; onClose: () => void }) {
  const { ask, title, verb, doing, done: didText, about } = works[work]
  const [run, set] = useState<Run | null>(null)
  const start = async () => {
    const waiting = [...ids]
    set({ ids: [...ids], done: 0, refused: [] })
    const lane = async () => {
      for (let executionId = waiting.shift(); executionId !== undefined; executionId = waiting.shift()) {
        const refusal = await ask(executionId).then(
          () => null,
          (error: Error) => error.message,
        )
        set(
          (before) =>
            before &&
            (refusal === null
              ? { ...before, done: before.done + 1 }
              : { ...before, refused: [...before.refused, refusal] }),
        )
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    await changed('listDeadLetters', 'groupDeadLetters')
  }
  if (run === null) {
    return (
      <Confirm
        title={title}
        action={`${verb} ${count(ids.length)}`}
        keep="Leave them"
        isHarmless={work === 'replay'}
        onConfirm={() => void start()}
        onClose={onClose}
      >
        <p>{about(ids.length === 1 ? 'One' : count(ids.length), ids.length === 1)}</p>
      </Confirm>
    )
  }
  const { done, refused } = run
  const total = run.ids.length
  const isOver = done + refused.length === total
  return (
    <Dialog title={title} onClose={onClose}>
      <p aria-live="polite" className="mb-2 font-medium">
        {isOver ? `${didText} ${count(done)} of ${count(total)}.` : `${doing} ${count(done)} of ${count(total)}…`}
      </p>
      <ProgressBar share={(done + refused.length) / total} label={`${doing} dead letters`} />
      {refused.length > 0 && (
        <ul className="mt-3 list-disc pl-5 text-bad">
          {[...new Set(refused)].map((message) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      )}
      <div className="mt-4 flex justify-end">
        <Button kind="main" disabled={!isOver} onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}
