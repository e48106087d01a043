/** Times and durations as people read them. */

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'narrow' })

export const viewerZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** `in 5 min`, `2 hr ago`. */
export function relativeTime(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime()
  if (Math.abs(ms) < 1_000) return 'now'
  const [unit, size] = units.find(([, size]) => Math.abs(ms) >= size)!
  return relative.format(Math.trunc(ms / size), unit)
}

/** 2026-11-17 06:30:05 in the viewer's zone, or another. */
export function clockTime(at: Date, options: { timeZone?: string; seconds?: boolean; date?: boolean } = {}): string {
  const { timeZone, seconds = true, date = true } = options
  return new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    ...(date && { year: 'numeric', month: '2-digit', day: '2-digit' }),
    hour: '2-digit',
    minute: '2-digit',
    ...(seconds && { second: '2-digit' }),
  }).format(at)
}

/** `850 ms`, `12.4 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms < 0) return `−${duration(-ms)}`
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
  if (ms < 3_600_000) return pair(ms, 60_000, 'min', 1_000, 's')
  if (ms < 86_400_000) return pair(ms, 3_600_000, 'h', 60_000, 'min')
  return pair(ms, 86_400_000, 'd', 3_600_000, 'h')
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large)
  const rest = Math.floor((ms % large) / small)
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`
}

const numbers = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export function count(value: number): string {
  return numbers.format(value)
}

/** 1.2K, 3.4M. */
export function shortCount(value: number): string {
  return value < 10_000 ? numbers.format(value) : short.format(value)
}

/** Rounded down, so that what is not all is never 100 %. */
export function percent(share: number): string {
  return `${Math.floor(share * 10_000 + 1e-6) / 100} %`
}
