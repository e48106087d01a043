/**
 * Which tz database is used where. Schedules are computed by the nodes, with the one inside Node.js; the version is kept in
 * the installation. PostgreSQL has its own, which does not report its version: it is inferred from the changes it knows.
 */
import { zoneNamed } from '../domain/schedule/zone.ts'
import type { Database } from '../store/database.ts'
import { readServerZones, type ServerZone } from '../store/doctor/zones.ts'
import { readInstallation } from '../store/partitions/manage.ts'
import { type Finding, ok, warn } from './findings.ts'

const quarterMs = 91 * 86_400_000
const quartersAhead = 8
const named = 3

/** What a version of the tz database was the first to know, the newest first. */
const milestones: { version: string; zone: string; at: number; offsetSec: number }[] = [
  { version: '2025b', zone: 'America/Coyhaique', at: Date.UTC(2025, 5, 1), offsetSec: -3 * 3_600 },
  { version: '2025a', zone: 'America/Asuncion', at: Date.UTC(2025, 5, 1), offsetSec: -3 * 3_600 },
  { version: '2024a', zone: 'Asia/Almaty', at: Date.UTC(2024, 5, 1), offsetSec: 5 * 3_600 },
  { version: '2023d', zone: 'America/Scoresbysund', at: Date.UTC(2024, 11, 1), offsetSec: -2 * 3_600 },
  { version: '2022f', zone: 'America/Mexico_City', at: Date.UTC(2023, 6, 1), offsetSec: -6 * 3_600 },
]

export async function examineTimeZones(database: Database, now: number): Promise<Finding> {
  const { tzVersion } = await readInstallation(database)
  const here = process.versions.tz ?? 'unknown'
  const ahead = Array.from({ length: quartersAhead }, (_, i) => Math.floor(now) + i * quarterMs)
  const zones = await readServerZones(database, [...milestones.map(({ at }) => at), ...ahead])
  const server = `PostgreSQL ${serverVersion(zones)}${differences(zones, ahead)}`
  if (tzVersion === null || tzVersion === here) {
    const nodes = tzVersion === null ? '' : ' and in the nodes'
    return ok('time zones', `tz database ${here} here${nodes}; ${server}`)
  }
  return warn(
    'time zones',
    `tz database ${here} here, ${tzVersion} in the nodes; ${server}`,
    'Run all of them with the same Node.js, or the same ICU_TIMEZONE_FILES_DIR (docs/schedules.md)',
  )
}

function serverVersion(zones: readonly ServerZone[]): string {
  const offsets = new Map(zones.map((zone) => [zone.name, zone.offsets]))
  const known = milestones.find(({ zone, offsetSec }, i) => offsets.get(zone)?.[i] === offsetSec)
  return known ? `${known.version} or later` : `older than ${milestones.at(-1)!.version}`
}

/** Zones whose offsets differ between PostgreSQL and this program within the next two years. */
function differences(zones: readonly ServerZone[], ahead: readonly number[]): string {
  const different = zones.filter(({ name, offsets }) => {
    const mine = offsetsOf(name, ahead)
    return mine?.some((offset, i) => offset !== offsets[milestones.length + i])
  })
  if (different.length === 0) return ', with the same clocks'
  const names = different.slice(0, named).map(({ name }) => name)
  const more = different.length > named ? ` and ${different.length - named} more` : ''
  return `, with other clocks in ${names.join(', ')}${more}: not for schedules, for SQL of your own`
}

/** Null: this program does not know the zone. */
function offsetsOf(name: string, instants: readonly number[]): number[] | null {
  try {
    const zone = zoneNamed(name)
    return instants.map((at) => zone.segmentAt(at).offset / 1_000)
  } catch {
    return null
  }
}
