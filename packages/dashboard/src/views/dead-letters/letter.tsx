import type { Execution } from '@carillon/contract'
import { useState } from 'react'
import { LinkButton } from '../../components/button.tsx'
import { reasonText } from '../../components/execution-columns.tsx'
import { Json } from '../../components/json.tsx'
import { Time } from '../../components/time.tsx'
import { duration } from '../../lib/time.ts'
import { Stack } from '../executions/data.tsx'

/** A dead letter in its list; opened, all that is known about it. */
export function Letter({
  letter,
  selection,
}: {
  letter: Execution
  selection?: { isSelected: boolean; toggle: () => void }
}) {
  const [isOpen, open] = useState(false)
  const { executionId, name, handler, error, reason, finishedAt, attempt } = letter
  return (
    <li className="flex min-w-0 items-start">
      {selection && (
        <input
          type="checkbox"
          className="mt-3 ml-4 shrink-0"
          aria-label={`Select ${name ?? handler} ${executionId}`}
          checked={selection.isSelected}
          onChange={selection.toggle}
        />
      )}
      <details className="min-w-0 flex-1" onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary className="px-4 py-2 hover:bg-sunken">
          <span className="font-semibold">{name ?? handler}</span>{' '}
          <span className="break-words">{error?.message ?? reasonText(reason ?? 'DEAD')}</span>{' '}
          <span className="text-soft">
            · {attempt} {attempt === 1 ? 'attempt' : 'attempts'} · <Time at={finishedAt} />
          </span>
        </summary>
        {isOpen && <Inside letter={letter} />}
      </details>
    </li>
  )
}

function Inside({ letter: { executionId, error, payload, attempts } }: { letter: Execution }) {
  return (
    <div className="pb-3">
      <ol className="space-y-0.5 px-4 py-2">
        {attempts.map((attempt) => (
          <li key={`${attempt.at} ${attempt.attempt}`} className="break-words">
            <span className="text-soft">
              Attempt {attempt.attempt}, <Time at={attempt.at} exact />
              {attempt.startedAt !== undefined &&
                `, after ${duration(new Date(attempt.at).getTime() - new Date(attempt.startedAt).getTime())}`}
              :
            </span>{' '}
            {attempt.error ? `${attempt.error.name}: ${attempt.error.message}` : reasonText(attempt.to)}
          </li>
        ))}
      </ol>
      {error?.stack !== undefined && <Stack text={error.stack} />}
      <Json name="Payload" value={payload} />
      <div className="px-4">
        <LinkButton to="/executions/$executionId" params={{ executionId }}>
          Open execution
        </LinkButton>
      </div>
    </div>
  )
}
