/** Names of zones close to one that does not exist, for the hint of the error. */

/** What people write most often that is not a zone: an abbreviation can belong to several. */
const abbreviations: Record<string, string[]> = {
  PST: ['America/Los_Angeles'],
  PDT: ['America/Los_Angeles'],
  MDT: ['America/Denver'],
  CST: ['America/Chicago', 'Asia/Shanghai'],
  CDT: ['America/Chicago'],
  EDT: ['America/New_York'],
  BST: ['Europe/London'],
  CEST: ['Europe/Berlin'],
  IST: ['Asia/Kolkata', 'Europe/Dublin', 'Asia/Jerusalem'],
  JST: ['Asia/Tokyo'],
  AEST: ['Australia/Sydney'],
}

const most = 3

export function nearZones(name: string): string[] {
  const abbreviation = abbreviations[name.toUpperCase()]
  if (abbreviation) return abbreviation
  const wanted = name.slice(0, 60).toLowerCase().replaceAll(' ', '_')
  if (wanted.length < 3) return []
  const farthest = Math.max(2, cityOf(wanted).length / 4)
  return ['UTC', ...Intl.supportedValuesOf('timeZone')]
    .map((zone) => ({ zone, distance: distanceTo(wanted, zone.toLowerCase()) }))
    .filter(({ distance }) => distance <= farthest)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ zone }) => zone)
}

/** Letters to change; the name of the city alone counts as close. */
function distanceTo(wanted: string, zone: string): number {
  return Math.min(editDistance(wanted, zone), editDistance(cityOf(wanted), cityOf(zone)) + 0.5)
}

function cityOf(zone: string): string {
  return zone.slice(zone.lastIndexOf('/') + 1)
}

function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const current = [i]
    for (let j = 1; j <= to.length; j++) {
      const replace = previous[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      current.push(Math.min(replace, previous[j]! + 1, current[j - 1]! + 1))
    }
    previous = current
  }
  return previous[to.length]!
}
