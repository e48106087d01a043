import { CarillonError } from '@carillon/contract'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CronSchedule } from './cron.ts'
import { modelInstants } from './cron-model.test-support.ts'
import { everyPolicy, instant } from './schedule.test-support.ts'
import { zoneNamed } from './zone.ts'
import { knownSpelling, nearZones } from './zone-names.ts'
import { farthestOffsetMs, instantsOf, spansOf } from './zone-spans.ts'

const everyZone = ['UTC', 'US/Eastern', 'EST5EDT', ...Intl.supportedValuesOf('timeZone')]

function hintFor(name: string): string {
  try {
    zoneNamed(name)
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'TIMEZONE_UNKNOWN') {
      expect(error.errors[0]!.pointer).toBe('/timezone')
      return error.errors[0]!.hint!
    }
    throw error
  }
  throw new Error(`${name} was accepted`)
}

describe('names', () => {
  it('reads any case and gives the spelling of the tz database', () => {
    expect(zoneNamed('america/new_york').id).toBe('America/New_York')
    expect(zoneNamed('utc').id).toBe('UTC')
    expect(zoneNamed('Europe/Berlin')).toBe(zoneNamed('europe/BERLIN'))
  })

  it.each([
    ['Europe/Berln', 'Europe/Berlin'],
    ['Berlin', 'Europe/Berlin'],
    ['New York', 'America/New_York'],
    ['America/NewYork', 'America/New_York'],
    ['PST', 'America/Los_Angeles'],
    ['+05:30', 'name a zone'],
    ['UTC+2', 'name a zone'],
    ['2020-01-01T00:00[Europe/Berlin]', 'Europe/Berlin'],
    ['', 'IANA'],
    ['Mars/Olympus_Mons', 'IANA'],
    ['x'.repeat(10_000), 'IANA'],
  ])('"%s" is unknown; the hint helps', (name, hint) => {
    expect(hintFor(name)).toContain(hint)
  })

  it('are known by the lists in every spelling that Temporal takes: where it is a library, only the lists are asked', () => {
    for (const name of everyZone) expect(knownSpelling(name.toUpperCase())).toBe(zoneNamed(name).id)
    for (const name of ['Asia/Kolkata', 'Europe/Kyiv', 'GB', 'Etc/GMT+12', 'W-SU', 'America/Nuuk']) {
      expect(knownSpelling(name)).toBe(zoneNamed(name).id)
    }
    expect(knownSpelling('Mars/Olympus_Mons')).toBeNull()
  })

  it('are offered in the spelling of today', () => {
    expect(nearZones('Asia/Kolkatta')[0]).toBe('Asia/Kolkata')
    expect(nearZones('Kiev')).toContain('Europe/Kiev')
  })

  it('offers at most three', () => {
    expect(nearZones('America/Bla').length).toBeLessThanOrEqual(3)
  })
})

describe('segments', () => {
  it('are looked up when a time is asked for, not before, and only there', () => {
    const asked: number[] = []
    const zone = zoneNamed('Europe/Berlin')
    const segmentAt = (at: number) => {
      asked.push(at)
      return zone.segmentAt(at)
    }
    const watched: typeof zone = Object.create(zone, { segmentAt: { value: segmentAt } })
    const schedule = new CronSchedule('0 3 * * *', watched, { gap: 'SHIFT', overlap: 'FIRST' }, 'EITHER')
    expect(asked).toEqual([])
    const now = instant('2027-01-01T00:00Z')
    schedule.next(now)
    expect(asked).toEqual([now])
  })

  it('lie farther apart than changes are large, for every zone until 2100: spans rely on it', () => {
    for (const name of everyZone) {
      const zone = zoneNamed(name)
      for (let at = 0; at < instant('2100-01-01T00:00Z'); ) {
        const { start, end, offset, before, after } = zone.segmentAt(at)
        const room = end - start - Math.abs(offset - before) - Math.abs(offset - after)
        if (room < 48 * 3_600_000 || Math.abs(offset) > farthestOffsetMs) expect.fail(`${name} at ${start}`)
        at = end
      }
    }
  })

  it('have the offset that Temporal has, at their edges and within', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...everyZone),
        fc.integer({ min: 0, max: instant('2100-01-01T00:00Z') }),
        (name, at) => {
          const zone = zoneNamed(name)
          const segment = zone.segmentAt(at)
          const offsetAt = (time: number) =>
            Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(name).offsetNanoseconds / 1e6
          expect(segment.offset).toBe(offsetAt(at))
          if (Number.isFinite(segment.start)) {
            expect(offsetAt(segment.start)).toBe(segment.offset)
            expect(offsetAt(segment.start - 1)).toBe(segment.before)
            expect(zone.segmentAt(segment.start)).toBe(segment)
          }
          if (Number.isFinite(segment.end)) {
            expect(offsetAt(segment.end - 1)).toBe(segment.offset)
            expect(offsetAt(segment.end)).toBe(segment.after)
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('are cut into spans without hole or overlap', () => {
    const segments = everyZone.map((name) => zoneNamed(name).segmentAt(instant('2025-06-01T00:00Z')))
    for (const segment of segments) {
      for (const policy of [...everyPolicy, null]) {
        const spans = spansOf(segment, policy)
        expect(spans[0]!.from).toBe(segment.start)
        expect(spans.at(-1)!.to).toBe(segment.end)
        for (let i = 1; i < spans.length; i++) expect(spans[i]!.from).toBe(spans[i - 1]!.to)
      }
    }
  })
})

describe('a wall clock', () => {
  it('happens when Temporal says, near every change of the clock', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...everyZone),
        fc.integer({ min: 0, max: instant('2040-01-01T00:00Z') }),
        fc.integer({ min: -26 * 3_600, max: 26 * 3_600 }),
        fc.constantFrom(...everyPolicy),
        (name, at, aroundSec, policy) => {
          const zone = zoneNamed(name)
          const { end } = zone.segmentAt(at)
          const wall = Math.floor((Number.isFinite(end) ? end : at) / 1_000 + aroundSec) * 1_000
          const plain = Temporal.Instant.fromEpochMilliseconds(wall).toZonedDateTimeISO('UTC').toPlainDateTime()
          expect(instantsOf(zone, wall, policy)).toEqual(modelInstants(plain, name, policy))
        },
      ),
      { numRuns: 5_000 },
    )
  })
})
