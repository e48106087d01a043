/** Times for people: absolute in UTC and how far away; and times as people type them. */
import { InvalidArgumentError } from 'commander'

const units = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const

/** Such as `3 min`, `2 h 5 min`, `840 ms`. */
export function duration(ms: number): string {
  const rounded = Math.round(Math.abs(ms))
  if (rounded < 1_000) return `${rounded} ms`
  if (rounded < 10_000) return `${(rounded / 1_000).toFixed(1)} s`
  const at = units.findIndex((unit) => rounded >= unit.ms)
  const unit = units[at]!
  const smaller = units[at + 1]
  const count = Math.floor(rounded / unit.ms)
  const rest = smaller && count < 10 ? Math.floor((rounded % unit.ms) / smaller.ms) : 0
  return rest > 0 ? `${count} ${unit.name} ${rest} ${smaller!.name}` : `${count} ${unit.name}`
}

/** Such as `in 3 min` or `2 h ago`. */
export function relative(at: number, now: number): string {
  const ms = at - now
  if (Math.abs(ms) < 1_000) return 'now'
  const coarse = duration(Math.round(ms / 1_000) * 1_000).replace(/\.0 s$/, ' s')
  return ms > 0 ? `in ${coarse}` : `${coarse} ago`
}

/** Such as `2030-01-31 08:00:00Z`. */
export function absolute(at: string | number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z`
}

/** On this machine's clock. */
export function clockTime(at: string): string {
  return new Date(at).toTimeString().slice(0, 8)
}

/** Both: `2030-01-31 08:00:00Z (in 3 min)`. A dash for none. */
export function when(at: string | null | undefined, now: number): string {
  return at == null ? '-' : `${absolute(at)} (${relative(Date.parse(at), now)})`
}

const spans: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of `90s`, `15m`, `2h`, `7d`; a bare number is refused, because its unit is unknown. */
export function parseSpan(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)$/.exec(text.trim())
  if (!match) throw new InvalidArgumentError('Give a number with a unit, such as 90s, 15m, 2h or 7d.')
  return Math.round(Number(match[1]) * spans[match[2]!]!)
}

/** An instant: ISO 8601 with an offset, `now`, or a time before now such as `2h`. */
export function instantArgument(now: () => number): (text: string) => string {
  return (text) => {
    if (text === 'now') return new Date(now()).toISOString()
    if (/^\d+(\.\d+)?\s*[a-z]+$/.test(text)) return new Date(now() - parseSpan(text)).toISOString()
    return instant(text)
  }
}

/** An instant with an offset, or a time on the clock of a zone that is given beside it. */
export function instantOrLocal(text: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/i.test(text) ? text : instant(text)
}

export function instant(text: string): string {
  const whole = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i.test(whole) || Number.isNaN(Date.parse(whole)))
    throw new InvalidArgumentError('Give ISO 8601 with an offset, such as 2030-01-31T08:00:00Z.')
  return new Date(whole).toISOString()
}
