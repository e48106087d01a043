/** The part of the examination that names what cannot be processed. */
import type { Database } from '../store/database.ts'
import { readUnknownPools } from '../store/doctor/unknown-pools.ts'
import { countQuarantined, groupQuarantined, type QuarantineGroup } from '../store/quarantine/read.ts'
import { type Finding, fail, ok, warn } from './findings.ts'

const mostCounted = 100_000
const mostGroups = 50

export async function examineQuarantine(database: Database): Promise<Finding[]> {
  const counts = Object.values(await countQuarantined(database, mostCounted))
  const count = counts.reduce((sum, each) => sum + each, 0)
  const findings = count === 0 ? [ok('quarantine', 'empty')] : await named(database, count)
  const pools = await readUnknownPools(database)
  if (pools.length > 0) {
    const message = `work waits in ${pools.slice(0, 10).join(', ')}, which no worker has ever served`
    findings.push(warn('pools', message, 'Start a worker that serves it, or cancel what is there'))
  }
  return findings
}

async function named(database: Database, count: number): Promise<Finding[]> {
  const groups = await groupQuarantined(database, mostCounted)
  const total = count >= mostCounted ? `${mostCounted} rows or more` : count === 1 ? '1 row' : `${count} rows`
  const hint = 'See each: carillon quarantine list; then carillon quarantine release | discard <number>'
  return [
    fail('quarantine', `${total} cannot be processed and were quarantined`, hint),
    ...groups.slice(0, mostGroups).map(ofGroup),
  ]
}

function ofGroup({ source, code, message, count, examples }: QuarantineGroup): Finding {
  const which = examples.map(({ quarantineId, key }) => `#${quarantineId} ${Object.values(key).join(' ')}`).join(', ')
  const rows = count === 1 ? '1 row' : `${count} rows`
  return fail(
    'quarantine',
    `${source}: ${rows}, ${code}: ${message} (${which}${count > examples.length ? ', …' : ''})`,
    'See above',
  )
}
