/** Names of zones: which there are, and which are close to one that does not exist, for the hint of the error. */

/**
 * Names of the tz database that `Intl` reads but does not list: older and newer spellings, and countries. Names that are
 * not here and not listed are still taken where `Temporal` is native.
 */
const unlisted = `Africa/Asmara Africa/Timbuktu America/Argentina/Buenos_Aires America/Argentina/Catamarca
  America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/Mendoza
  America/Atikokan America/Atka America/Ensenada America/Fort_Wayne America/Indiana/Indianapolis
  America/Kentucky/Louisville America/Knox_IN America/Montreal America/Nipigon America/Nuuk America/Pangnirtung
  America/Porto_Acre America/Rainy_River America/Rosario America/Santa_Isabel America/Shiprock America/Thunder_Bay
  America/Virgin America/Yellowknife Antarctica/South_Pole Asia/Ashkhabad Asia/Choibalsan Asia/Chongqing Asia/Chungking
  Asia/Dacca Asia/Harbin Asia/Ho_Chi_Minh Asia/Istanbul Asia/Kashgar Asia/Kathmandu Asia/Kolkata Asia/Macao
  Asia/Tel_Aviv Asia/Thimbu Asia/Ujung_Pandang Asia/Ulan_Bator Asia/Yangon Atlantic/Faroe Atlantic/Jan_Mayen
  Australia/ACT Australia/Canberra Australia/Currie Australia/LHI Australia/NSW Australia/North Australia/Queensland
  Australia/South Australia/Tasmania Australia/Victoria Australia/West Australia/Yancowinna Brazil/Acre
  Brazil/DeNoronha Brazil/East Brazil/West CET CST6CDT Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain
  Canada/Newfoundland Canada/Pacific Canada/Saskatchewan Canada/Yukon Chile/Continental Chile/EasterIsland Cuba EET EST
  EST5EDT Egypt Eire Etc/GMT Etc/GMT+0 Etc/GMT+1 Etc/GMT+10 Etc/GMT+11 Etc/GMT+12 Etc/GMT+2 Etc/GMT+3 Etc/GMT+4
  Etc/GMT+5 Etc/GMT+6 Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT-0 Etc/GMT-1 Etc/GMT-10 Etc/GMT-11 Etc/GMT-12 Etc/GMT-13
  Etc/GMT-14 Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9 Etc/GMT0 Etc/Greenwich
  Etc/UCT Etc/UTC Etc/Universal Etc/Zulu Europe/Belfast Europe/Kyiv Europe/Nicosia Europe/Tiraspol Europe/Uzhgorod
  Europe/Zaporozhye GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein
  Libya MET MST MST7MDT Mexico/BajaNorte Mexico/BajaSur Mexico/General NZ NZ-CHAT Navajo PRC PST8PDT Pacific/Chuuk
  Pacific/Johnston Pacific/Kanton Pacific/Pohnpei Pacific/Samoa Pacific/Yap Poland Portugal ROC ROK Singapore Turkey UCT
  US/Alaska US/Aleutian US/Arizona US/Central US/East-Indiana US/Eastern US/Hawaii US/Indiana-Starke US/Michigan
  US/Mountain US/Pacific US/Samoa UTC Universal W-SU WET Zulu`

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
/** Longer than every name there is, with a few letters too many. */
const longest = 40

interface KnownZone {
  id: string
  lower: string
  city: string
}

let known: Map<string, KnownZone> | null = null

function knownZones(): Map<string, KnownZone> {
  if (known === null) {
    known = new Map()
    for (const id of [...unlisted.split(/\s+/), ...Intl.supportedValuesOf('timeZone')]) {
      const lower = id.toLowerCase()
      known.set(lower, { id, lower, city: cityOf(lower) })
    }
  }
  return known
}

/** As the tz database spells a name, whatever its case; null if it is not in the lists. */
export function knownSpelling(name: string): string | null {
  return name.length > longest ? null : (knownZones().get(name.toLowerCase())?.id ?? null)
}

/** [m] 0.1 to 0.3 ms for a name of any length; 4 to 25 ms when every distance was computed to its end. */
export function nearZones(name: string): string[] {
  const abbreviation = abbreviations[name.toUpperCase()]
  if (abbreviation) return abbreviation
  if (name.length < 3 || name.length > longest) return []
  const wanted = name.toLowerCase().replaceAll(' ', '_')
  const city = cityOf(wanted)
  const farthest = Math.max(2, city.length / 4)
  const found: { id: string; distance: number }[] = []
  for (const zone of knownZones().values()) {
    // The name of the city alone counts as close.
    const byCity = editDistance(city, zone.city, farthest - 0.5) + 0.5
    const distance = Math.min(editDistance(wanted, zone.lower, farthest), byCity)
    if (distance <= farthest) found.push({ id: zone.id, distance })
  }
  return found
    .sort((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ id }) => id)
}

function cityOf(zone: string): string {
  return zone.slice(zone.lastIndexOf('/') + 1)
}

const rows = [new Uint8Array(longest + 1), new Uint8Array(longest + 1)] as const

/** Letters to change, or Infinity if they are more than `limit`. Neither text is longer than `longest`. */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) > limit) return Infinity
  let [previous, current] = rows
  for (let j = 0; j <= to.length; j++) previous[j] = j
  for (let i = 1; i <= from.length; i++) {
    current[0] = i
    let nearest = i
    for (let j = 1; j <= to.length; j++) {
      const replace = previous[j - 1]! + (from.charCodeAt(i - 1) === to.charCodeAt(j - 1) ? 0 : 1)
      const value = Math.min(replace, previous[j]! + 1, current[j - 1]! + 1)
      current[j] = value
      if (value < nearest) nearest = value
    }
    if (nearest > limit) return Infinity
    ;[previous, current] = [current, previous]
  }
  const distance = previous[to.length]!
  return distance <= limit ? distance : Infinity
}
