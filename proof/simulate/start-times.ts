/** When a run begins: at any time, or shortly before clocks are set forward or back somewhere. */
import type { Random } from './random.ts'

export interface StartTime {
  at: number
  /** Of the zone whose clocks change, if they do. */
  zone: string
  /** Local hours around the change. */
  hours: string
}

/** Instants at which the offset of a zone changes. */
const changes: { at: string; zone: string; hours: string }[] = [
  { at: '2026-03-08T10:00:00Z', zone: 'America/Los_Angeles', hours: '1,2,3' },
  { at: '2026-03-29T01:00:00Z', zone: 'Europe/Berlin', hours: '1,2,3' },
  { at: '2026-04-04T15:00:00Z', zone: 'Australia/Lord_Howe', hours: '1,2' },
  { at: '2026-10-03T15:30:00Z', zone: 'Australia/Lord_Howe', hours: '1,2,3' },
  { at: '2026-10-25T01:00:00Z', zone: 'Europe/Berlin', hours: '1,2,3' },
  { at: '2026-11-01T09:00:00Z', zone: 'America/Los_Angeles', hours: '0,1,2' },
]

export const firstDay = Date.parse('2026-03-01T00:00:00Z')
export const lastDay = Date.parse('2026-11-10T00:00:00Z')

export function startTime(random: Random): StartTime {
  const change = random.pick(changes)
  const at = Date.parse(change.at)
  if (random.chance(0.5)) return { ...change, at: at - random.whole(15, 60) * 1_000 }
  return { zone: 'Asia/Tokyo', hours: '*', at: at + random.whole(3_600, 80_000) * 1_000 + random.whole(0, 999) }
}
