import { useSyncExternalStore } from 'react'
import { currentTime } from '../lib/clock.ts'
import { clockTime, relativeTime, viewerZone } from '../lib/time.ts'

/** One clock for all times of the page, once a second while it is visible. */
const listeners = new Set<() => void>()
let now = currentTime()
let ticking: ReturnType<typeof setInterval> | undefined

export function useNow(): Date {
  return useSyncExternalStore(subscribe, () => now)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  ticking ??= setInterval(() => {
    if (document.hidden) return
    now = currentTime()
    for (const each of listeners) each()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
}

/** `in 5 min`; the exact time, in the viewer's zone and the job's, is its title. */
export function Time({ at, zone, exact = false }: { at: string | null | undefined; zone?: string; exact?: boolean }) {
  const current = useNow()
  if (at === null || at === undefined) return <span className="text-soft">–</span>
  const date = new Date(at)
  const there = zone !== undefined && zone !== viewerZone ? `\n${clockTime(date, { timeZone: zone })} ${zone}` : ''
  return (
    <time dateTime={at} title={`${clockTime(date)} ${viewerZone}${there}`} className="whitespace-nowrap">
      {exact ? clockTime(date) : relativeTime(date, current)}
    </time>
  )
}
