/** One run as a bar: colour and shape say how it ended, height how long it took. */
const full = 60
const least = 5

/** From `least` to `full`, by the logarithm of the duration between half the shortest and the longest. */
export function barHeight(
  durationMs: number | null,
  { shortestMs, longestMs }: { shortestMs: number; longestMs: number },
): number {
  if (durationMs === null) return least
  const from = Math.max(shortestMs, 0.1) / 2
  return (
    least + (full - least) * (Math.log(Math.max(durationMs, from) / from) / Math.log(Math.max(longestMs, 0.2) / from))
  )
}

/** Filled: it succeeded or runs. Hollow: it will be tried again. A gap and a cap: it is dead. A low line: it did not run. */
export function Bar({ state, height }: { state: string; height: number }) {
  if (state === 'SUCCEEDED') return <span className="block w-full rounded-sm bg-good" style={{ height }} />
  if (state === 'RUNNING') {
    return <span className="block w-full animate-pulse rounded-t-full bg-busy" style={{ height: full / 2 }} />
  }
  if (state === 'DEAD') {
    return (
      <span className="flex w-full flex-col items-stretch gap-0.5">
        <span className="block h-1.5 rounded-full bg-bad" />
        <span className="block rounded-sm bg-bad" style={{ height: Math.max(least, height - 8) }} />
      </span>
    )
  }
  if (state === 'FAILED' || state === 'TIMED_OUT' || state === 'WORKER_LOST') {
    return <span className="block w-full rounded-sm border-2 border-warn" style={{ height: Math.max(10, height) }} />
  }
  if (state === 'PENDING' || state === 'BLOCKED') {
    return <span className="block aspect-square w-full rounded-full border-2 border-wait" />
  }
  return <span className={`block h-1 w-full rounded-full bg-soft ${state === 'SKIPPED' ? 'opacity-60' : ''}`} />
}
