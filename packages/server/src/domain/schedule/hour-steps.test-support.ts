/**
 * Every hour step at the changes of the clock of every zone, held against a model that shares no code with the parser,
 * the matcher or the zone: it asks Temporal about each wall-clock time around a change. The hours of a step are counted here;
 * what becomes of an hour that does not exist or comes twice is Temporal's own disambiguation under our policy.
 */
import type { DstPolicy } from '@carillon/contract'
import { modelInstants } from './cron-model.test-support.ts'
import { everyPolicy } from './schedule.test-support.ts'

const hourMs = 3_600_000
/** Longer than the largest change there was, a whole day, and a day around it. */
const reachMs = 50 * hourMs

export interface Change {
  zone: string
  at: number
}

export interface HourStep {
  expression: string
  hours: ReadonlySet<number>
}

/** Steps of one hour to 24, from every hour that such a step can begin with. */
export const hourSteps: HourStep[] = Array.from({ length: 24 }, (_, i) => i + 1).flatMap((step) =>
  Array.from({ length: step }, (_, first) => ({
    expression: `0,30 ${first}/${step} * * *`,
    hours: new Set(Array.from({ length: 24 }, (_, hour) => hour).filter((h) => h >= first && (h - first) % step === 0)),
  })),
)

export const everyZone = ['UTC', ...Intl.supportedValuesOf('timeZone')]

/** The changes of a zone's clock in a range, by Temporal. */
export function changesOf(zone: string, from: number, to: number): Change[] {
  const found: Change[] = []
  let time: Temporal.ZonedDateTime | null = Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(zone)
  for (;;) {
    time = time.getTimeZoneTransition('next')
    if (time === null || time.epochMilliseconds >= to) return found
    found.push({ zone, at: time.epochMilliseconds })
  }
}

export function windowOf({ at }: Change): { after: number; until: number } {
  return { after: at - 26 * hourMs, until: at + 26 * hourMs }
}

/** What each step fires at around a change, under each policy. */
export class ChangeModel {
  readonly #window: { after: number; until: number }
  /** By policy: each wall-clock hour of the day with the instants at which it happens around the change. */
  readonly #instants: Map<DstPolicy, { hour: number; at: number }[]>

  constructor(change: Change) {
    this.#window = windowOf(change)
    this.#instants = new Map(everyPolicy.map((policy) => [policy, []]))
    const start = Temporal.Instant.fromEpochMilliseconds(change.at - reachMs).toZonedDateTimeISO(change.zone)
    const first = start.toPlainDateTime().round({ smallestUnit: 'hour', roundingMode: 'floor' })
    for (let minutes = 0; minutes <= (2 * reachMs) / 60_000; minutes += 30) {
      const wall = first.add({ minutes })
      for (const [policy, instants] of this.#instants) {
        for (const at of modelInstants(wall, change.zone, policy)) instants.push({ hour: wall.hour, at })
      }
    }
  }

  occurrences({ hours }: HourStep, policy: DstPolicy): number[] {
    // Every hour follows elapsed time: what exists happens, as often as it exists, and nothing is moved.
    const rule =
      hours.size === 24 ? everyPolicy.find(({ gap, overlap }) => gap === 'SKIP' && overlap === 'BOTH')! : policy
    const found = new Set<number>()
    for (const { hour, at } of this.#instants.get(rule)!) {
      if (hours.has(hour) && at > this.#window.after && at <= this.#window.until) found.add(at)
    }
    return [...found].sort((a, b) => a - b)
  }
}
