/** `cron`, `every` or `after`, as programs say it, and the fields of a job that they become. */
import { CarillonError } from './errors.ts'
import type { WireJobInput } from './schemas/job.ts'

export type Recurrence =
  | { type: 'CRON'; schedule: string }
  | { type: 'INTERVAL'; interval: string }
  | { type: 'AFTER'; after: NonNullable<WireJobInput['after']> }

/** Throws VALIDATION unless exactly one of them is there. */
export function recurrenceOf(options: { cron?: unknown; every?: unknown; after?: unknown }): Recurrence {
  const { cron, every, after } = options
  const [one, other] = (['cron', 'every', 'after'] as const).filter((name) => options[name] !== undefined)
  if (other !== undefined) throw refused(`/${other}`, `${one} and ${other} are both given`, 'Give one of them')
  // What it says is checked with the job.
  if (after !== undefined) return { type: 'AFTER', after: after as NonNullable<WireJobInput['after']> }
  if (every !== undefined) {
    if (typeof every !== 'string')
      throw refused('/every', `every must be a text, not ${typeof every}`, durationHint(every))
    const hint = shorthandHint(every)
    if (hint !== null) throw refused('/every', `every "${every}" is not an ISO 8601 duration`, hint)
    return { type: 'INTERVAL', interval: every }
  }
  if (typeof cron === 'string') return { type: 'CRON', schedule: cron }
  if (cron !== undefined) throw refused('/cron', `cron must be a text, not ${typeof cron}`, 'Such as 0 3 * * *')
  throw refused(
    '/cron',
    'cron, every or after is required',
    "Such as { cron: '0 3 * * *' }, { every: 'PT15M' } or { after: { job: 'nightly' } }",
  )
}

/** What to write instead of something that is no ISO 8601 duration. */
export function durationHint(value: unknown): string {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1_000) {
    return `Write an ISO 8601 duration; ${value} milliseconds are PT${value / 1_000}S`
  }
  const written = typeof value === 'string' ? shorthandHint(value) : null
  return written ?? 'Write PT90S, PT15M, PT1H, P1D, P1W, P1M, P1Y or a sum such as P1DT12H'
}

const timeUnits: Record<string, string> = { s: 'S', m: 'M', h: 'H' }
const dateUnits: Record<string, string> = { d: 'D', w: 'W', mo: 'M', y: 'Y' }
const form =
  /^(?:every\s+|@every\s+)?(\d+)\s*(s|sec|secs|seconds?|m|min|mins|minutes?|h|hr|hrs|hours?|d|days?|w|weeks?|mo|months?|y|years?)$/i

/** `15m`, `1 hour` and the like; null: it is something else. */
function shorthandHint(text: string): string | null {
  const [, amount, word] = form.exec(text.trim()) ?? []
  if (amount === undefined || word === undefined) return null
  const lower = word.toLowerCase()
  const unit = lower.startsWith('mo') ? 'mo' : lower[0]!
  const date = dateUnits[unit]
  return `Write ${date === undefined ? `PT${amount}${timeUnits[unit]}` : `P${amount}${date}`}`
}

function refused(pointer: string, message: string, hint: string): CarillonError {
  return new CarillonError('VALIDATION', { pointer, message, hint })
}
