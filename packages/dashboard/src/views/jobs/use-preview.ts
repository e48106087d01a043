/** When a definition would fire, asked for once its writing pauses. */
import type { Fires, PreviewInput } from '@carillon/contract'
import { useEffect, useState } from 'react'
import { Refusal } from '../../lib/api.ts'
import { useAsk } from '../../lib/queries.ts'
import type { Definition } from './definition.ts'
import { lookedAhead } from './fire-list.tsx'
import { type Problems, problemsOf } from './problems.ts'

const pauseMs = 300

export interface Preview {
  fires: Fires | undefined
  problems: Problems
  isPending: boolean
  error: Error | null
}

export function usePreview(definition: Definition): Preview {
  const wanted = useSettled(JSON.stringify(previewOf(definition)))
  const body = JSON.parse(wanted) as PreviewInput | null
  const preview = useAsk('previewSchedule', { body: body! }, { enabled: body !== null })
  if (body === null) return { fires: undefined, problems: new Map(), isPending: false, error: null }
  const error = preview.error
  return {
    fires: error === null ? preview.data : undefined,
    problems: error instanceof Refusal ? problemsOf(error) : new Map(),
    isPending: preview.isPending,
    error,
  }
}

/** Null: there is nothing to ask for yet. */
function previewOf(definition: Definition): PreviewInput | null {
  const { type, schedule, interval, anchor, runAt, timezone, dst, dayFields, startAt, endAt } = definition
  const time = { CRON: schedule, INTERVAL: interval, ONE_SHOT: runAt }[type as PreviewInput['type']]
  if (type === undefined || type === 'DELAYED' || type === 'AFTER' || time === undefined || time === '') return null
  const fields = {
    ...(type === 'CRON' && { schedule, dayFields }),
    ...(type === 'INTERVAL' && { interval, anchor }),
    ...(type === 'ONE_SHOT' && { runAt }),
  }
  return { type, ...fields, timezone, dst, startAt, endAt, count: lookedAhead }
}

function useSettled(text: string): string {
  const [settled, settle] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => settle(text), pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
