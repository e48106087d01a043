/** When jobs fire: occurrences one by one, and what becomes of each that is due. */
import type { Definition, Job, World } from './world.ts'

/** The first occurrence after an instant; null: there is none. */
export function nextAfter({ every, runAt, startAt, endAt }: Definition, instant: number): number | null {
  const from = startAt === null ? instant : Math.max(instant, startAt - 1)
  const next = every === null ? runAt! : every.anchor + numberAfter(every, from) * every.ms
  return next <= from || (endAt !== null && next > endAt) ? null : next
}

/** The anchor is number 0, and the first. */
function numberAfter({ ms, anchor }: NonNullable<Definition['every']>, instant: number): number {
  return Math.max(0, Math.floor((instant - anchor) / ms) + 1)
}

export function occursAt(definition: Definition, instant: number): boolean {
  return nextAfter(definition, instant - 1) === instant
}

/** From `first` on, up to and including `last`. */
export function occurrencesFrom(definition: Definition, first: number, last: number): number[] {
  const all: number[] = []
  for (let at: number | null = first; at !== null && at <= last; at = nextAfter(definition, at)) all.push(at)
  return all
}

/** Consecutive occurrences that are skipped for one reason. */
export interface Skip {
  reason: string
  first: number
  last: number
  count: number
}

export interface Plan {
  fire: number[]
  skip: Skip[]
  /** Where the schedule stands afterwards. */
  next: number | null
}

/** What becomes of what is due at `now`. */
export function planOf(job: Job, now: number): Plan {
  const { definition, nominal, jitterMs, fires } = job
  const { misfire, misfireAfterSec, maxCatchUp, graceSec, maxFires } = definition
  const left = maxFires === null ? Number.POSITIVE_INFINITY : maxFires - fires
  if (left <= 0) return { fire: [], skip: [], next: null }
  const due = occurrencesFrom(definition, nominal!, now - jitterMs)
  const age = (at: number) => now - (at + jitterMs)
  const tooLate = due.filter((at) => graceSec !== null && age(at) > graceSec * 1_000)
  const allowed = due.filter((at) => !tooLate.includes(at))
  const misfired = allowed.filter((at) => age(at) > misfireAfterSec * 1_000)
  const late = allowed.filter((at) => !misfired.includes(at))
  const most = { FIRE_ONCE: 1, FIRE_ALL: maxCatchUp, SKIP: 0 }[misfire]
  const caughtUp = most === 0 ? [] : misfired.slice(-most)
  const given = misfired.slice(0, misfired.length - caughtUp.length)
  const fire = [...caughtUp, ...late].slice(0, left)
  const isSpent = fire.length === left
  return {
    fire,
    skip: [
      ...skipOf(tooLate, 'GRACE_EXCEEDED'),
      ...skipOf(given, misfire === 'FIRE_ALL' ? 'CATCH_UP_LIMIT' : 'MISFIRED'),
    ],
    next: isSpent ? null : due.length === 0 ? nominal : nextAfter(definition, due.at(-1)!),
  }
}

export function skipOf(occurrences: number[], reason: string): Skip[] {
  const [first] = occurrences
  if (first === undefined) return []
  return [{ reason, first, last: occurrences.at(-1)!, count: occurrences.length }]
}

/** What a paused job has passed until now, and where it stands then. */
export function passedInPause(
  world: World,
  { definition, nominal, jitterMs }: Job,
): { skip: Skip[]; next: number | null } {
  const passed = occurrencesFrom(definition, nominal!, world.now - jitterMs)
  if (passed.length === 0) return { skip: [], next: nominal }
  return { skip: skipOf(passed, 'PAUSED'), next: nextAfter(definition, passed.at(-1)!) }
}
