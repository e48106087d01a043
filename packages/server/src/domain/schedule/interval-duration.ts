/** ISO 8601 durations as an interval may use them: whole date parts, seconds to the millisecond, at least PT1S. */
import { CarillonError, durationHint } from '@carillon/contract'

export interface IntervalDuration {
  /** Years and months together. */
  months: number
  /** Weeks and days together. */
  days: number
  timeMs: number
}

const shortestMs = 1_000
const form = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/
/** More than this is longer than all the time there is to schedule; it also keeps every product an exact integer. */
const longestMonths = 12_000
const longestDays = 366_000
const longestMs = longestDays * 86_400_000

export function parseDuration(text: string): IntervalDuration {
  const upper = text.trim().toUpperCase()
  const parts = upper.length <= 100 ? form.exec(upper) : null
  if (parts === null || upper.endsWith('P') || upper.endsWith('T')) throw malformed(upper, text)
  const [years, months, weeks, days, hours, minutes] = parts.slice(1, 7).map((part) => Number(part ?? 0)) as number[]
  const seconds = (parts[7] ?? '0').replace(',', '.')
  if (/\.\d{4,}/.test(seconds)) {
    throw invalid(`"${upper}" has seconds finer than a millisecond`, 'Give at most three digits after the point')
  }
  const duration = {
    months: years! * 12 + months!,
    days: weeks! * 7 + days!,
    timeMs: hours! * 3_600_000 + minutes! * 60_000 + Math.round(Number(seconds) * 1_000),
  }
  if (duration.months > longestMonths || duration.days > longestDays || duration.timeMs > longestMs) {
    throw invalid(`"${upper}" is longer than a thousand years`, 'Use a shorter interval')
  }
  if (duration.months === 0 && duration.days === 0 && duration.timeMs < shortestMs) {
    throw invalid(`"${upper}" is shorter than a second`, 'The shortest interval is PT1S')
  }
  return duration
}

function malformed(upper: string, text: string): CarillonError {
  const shown = `"${text.slice(0, 100)}"`
  if (upper.includes('-')) return invalid(`${shown} is negative`, 'An interval runs forward: write it without a sign')
  if (/[.,]/.test(upper)) {
    return invalid(
      `${shown} has a fraction of something other than seconds`,
      'Use smaller parts: PT12H for half a day, PT90M for 1.5 hours',
    )
  }
  return invalid(`${shown} is not an ISO 8601 duration`, durationHint(text))
}

function invalid(message: string, hint: string): CarillonError {
  return new CarillonError('SCHEDULE_INVALID', { pointer: '/interval', message, hint })
}
