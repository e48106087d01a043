import type { ExecutionFilter } from '@carillon/contract'
import { useState } from 'react'
import { BulkConfirm } from '../../components/bulk-confirm.tsx'
import { Button } from '../../components/button.tsx'
import { useMay } from '../../lib/caller.ts'

const abouts = {
  replayDeadLetters: 'They run again, oldest first, as the same executions and with all their attempts.',
  purgeDeadLetters:
    'They leave this list. Their executions stay in the history as dead until retention removes them, and can be retried one by one.',
}

type Action = keyof typeof abouts

/** Replay or purge everything that a filter selects. `filterNow` is asked when a button is pressed. */
export function Bulk({
  of,
  filterNow,
  started,
}: {
  /** What they act on, for those who hear it. */
  of: string
  filterNow: () => ExecutionFilter
  started: (operationId: string) => void
}) {
  const mayWrite = useMay('jobs:write')
  const [asked, ask] = useState<{ action: Action; filter: ExecutionFilter } | null>(null)
  if (!mayWrite) return null
  return (
    <>
      <Button aria-label={`Replay ${of}`} onClick={() => ask({ action: 'replayDeadLetters', filter: filterNow() })}>
        Replay…
      </Button>
      <Button
        kind="danger"
        aria-label={`Purge ${of}`}
        onClick={() => ask({ action: 'purgeDeadLetters', filter: filterNow() })}
      >
        Purge…
      </Button>
      {asked && (
        <BulkConfirm
          {...asked}
          about={abouts[asked.action]}
          onStarted={({ operationId }) => {
            ask(null)
            started(operationId)
          }}
          onClose={() => ask(null)}
        />
      )}
    </>
  )
}
