/**
 * A second, naive reading of cron for the tests: an expression is generated together with the sets it means, and its
 * occurrences are found by asking Temporal about every minute. Shares no code with the parser, matcher or zone.
 */
import type { DstPolicy } from '@carillon/contract'
import * as fc from 'fast-check'

export interface CronModel {
  text: string
  minutes: number[]
  hours: number[]
  followsElapsedTime: boolean
  /** Null: any. */
  months: number[] | null
  daysOfMonth: number[] | null
  daysOfWeek: number[] | null
}

const everyNth = (from: number, to: number, step: number) =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)

const numbers = (min: number, max: number, most: number) =>
  fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: most })

const list = (min: number, max: number, most: number) =>
  numbers(min, max, most).map((values) => ({ text: values.join(','), values: values as number[] | null }))

const range = (min: number, max: number) =>
  fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([a, b]) => {
    const [from, to] = [Math.min(a, b), Math.max(a, b)]
    return { text: `${from}-${to}`, values: everyNth(from, to, 1) as number[] | null }
  })

const step = (min: number, max: number) =>
  fc.integer({ min: 2, max: Math.floor((max - min) / 2) }).map((size) => ({
    text: `*/${size}`,
    values: everyNth(min, max, size) as number[] | null,
  }))

const any = fc.constant({ text: '*', values: null as number[] | null })

/** Five-field expressions; hours near the changes of the clock come more often. */
export const cronModels: fc.Arbitrary<CronModel> = fc
  .record({
    minute: fc.oneof(list(0, 59, 3), range(0, 59), step(0, 59), any),
    hour: fc.oneof(
      { weight: 3, arbitrary: list(0, 4, 3) },
      { weight: 2, arbitrary: list(0, 23, 3) },
      { weight: 2, arbitrary: range(0, 22) },
      { weight: 1, arbitrary: step(0, 23) },
      { weight: 1, arbitrary: any },
    ),
    dayOfMonth: fc.oneof({ weight: 3, arbitrary: any }, { weight: 1, arbitrary: range(1, 31) }),
    month: fc.oneof({ weight: 3, arbitrary: any }, { weight: 1, arbitrary: list(1, 12, 8) }),
    dayOfWeek: fc.oneof({ weight: 3, arbitrary: any }, { weight: 1, arbitrary: list(0, 6, 4) }),
  })
  .map(({ minute, hour, dayOfMonth, month, dayOfWeek }) => ({
    text: [minute, hour, dayOfMonth, month, dayOfWeek].map((field) => field.text).join(' '),
    minutes: minute.values ?? everyNth(0, 59, 1),
    hours: hour.values ?? everyNth(0, 23, 1),
    followsElapsedTime: hour.text === '*',
    months: month.values,
    daysOfMonth: dayOfMonth.values,
    daysOfWeek: dayOfWeek.values,
  }))
  .filter((model) => possible(model))

function possible({ daysOfMonth, daysOfWeek, months }: CronModel): boolean {
  return daysOfMonth === null || daysOfWeek !== null || Math.min(...daysOfMonth) <= 28 || months === null
}

export function modelMatches(model: CronModel, wall: Temporal.PlainDateTime): boolean {
  if (wall.second !== 0 || wall.millisecond !== 0) return false
  if (!model.minutes.includes(wall.minute) || !model.hours.includes(wall.hour)) return false
  if (model.months && !model.months.includes(wall.month)) return false
  const byMonth = model.daysOfMonth?.includes(wall.day)
  const byWeek = model.daysOfWeek?.includes(wall.dayOfWeek % 7)
  if (byMonth === undefined) return byWeek ?? true
  return byWeek === undefined ? byMonth : byMonth || byWeek
}

/** The occurrences after one instant and up to another, minute by minute. */
export function modelOccurrences(
  model: CronModel,
  zone: string,
  policy: DstPolicy,
  window: { after: number; until: number },
): number[] {
  const found = new Set<number>()
  const start = Temporal.Instant.fromEpochMilliseconds(window.after).toZonedDateTimeISO(zone).toPlainDateTime()
  if (model.followsElapsedTime) {
    // Monrovia's minutes began at second 30 of UTC's.
    for (let at = Math.ceil((window.after + 1) / 30_000) * 30_000; at <= window.until; at += 30_000) {
      const wall = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDateTime()
      if (modelMatches(model, wall)) found.add(at)
    }
  } else {
    const marginMs = 25 * 3_600_000
    const minutes = Math.ceil((window.until - window.after + 2 * marginMs) / 60_000)
    const first = start.subtract({ milliseconds: marginMs }).round({ smallestUnit: 'minute', roundingMode: 'floor' })
    for (let minute = 0; minute <= minutes; minute++) {
      const wall = first.add({ minutes: minute })
      if (modelMatches(model, wall)) for (const at of modelInstants(wall, zone, policy)) found.add(at)
    }
  }
  return [...found].filter((at) => at > window.after && at <= window.until).sort((a, b) => a - b)
}

/** Temporal's own disambiguation under our policy. */
export function modelInstants(wall: Temporal.PlainDateTime, zone: string, policy: DstPolicy): number[] {
  const earlier = wall.toZonedDateTime(zone, { disambiguation: 'earlier' })
  const later = wall.toZonedDateTime(zone, { disambiguation: 'later' })
  if (earlier.epochMilliseconds === later.epochMilliseconds) return [earlier.epochMilliseconds]
  if (!earlier.toPlainDateTime().equals(wall)) return policy.gap === 'SHIFT' ? [later.epochMilliseconds] : []
  if (policy.overlap === 'FIRST') return [earlier.epochMilliseconds]
  if (policy.overlap === 'SECOND') return [later.epochMilliseconds]
  return [earlier.epochMilliseconds, later.epochMilliseconds]
}
