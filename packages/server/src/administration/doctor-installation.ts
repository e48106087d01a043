/** The part of the examination that reads the installation's own tables. */
import { timeOf } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import {
  countDeadLetters,
  countOverdue,
  readLastLoss,
  readLeadership,
  readSilentWorkers,
  readStrandedPools,
} from '../store/doctor/installation.ts'
import { readInstallation, readPartitions } from '../store/partitions/manage.ts'
import { readProgress } from '../store/verification/progress.ts'
import { examineQuarantine } from './doctor-quarantine.ts'
import { examineSubscriptions } from './doctor-subscriptions.ts'
import { type Finding, fail, ok, warn } from './findings.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** The partitioner makes them for three days, once an hour. */
const neededAheadMs = 2 * dayMs
const suspectMs = 15_000
const lostMs = 30_000
const overdueMs = 10_000
const overdueFail = 100
const countedMost = 10_000

export async function examineInstallation(database: Database, now: number): Promise<Finding[]> {
  return [
    await examinePartitions(database, now),
    await examineLeadership(database),
    await examineOverdue(database),
    ...(await examineWorkers(database)),
    ...(await examinePools(database)),
    await examineDeadLetters(database),
    await examineLosses(database),
    ...(await examineVerification(database)),
    ...(await examineQuarantine(database)),
    ...(await examineSubscriptions(database)),
  ]
}

async function examinePartitions(database: Database, now: number): Promise<Finding> {
  const { partitionHours, floorId } = await readInstallation(database)
  const width = partitionHours * hourMs
  const there = new Set((await readPartitions(database)).filter(({ whole }) => whole).map(({ from }) => from))
  const first = Math.floor(Math.max(timeOf(floorId), now) / width) * width
  const missing: number[] = []
  for (let from = first; from < now + neededAheadMs; from += width) if (!there.has(from)) missing.push(from)
  if (missing.length === 0) return ok('partitions', `${there.size} of ${partitionHours} h, enough for the coming days`)
  const from = new Date(missing[0]!).toISOString().slice(0, 16)
  const message = `${missing.length} are missing, the first from ${from}Z on`
  const hint = 'A running node makes them every hour: start one, and look for errors of the partitioner in its log'
  return missing[0]! <= now + hourMs ? fail('partitions', message, hint) : warn('partitions', message, hint)
}

async function examineLeadership(database: Database): Promise<Finding> {
  const { nodes, shards, leaderless } = await readLeadership(database)
  if (nodes === 0) return fail('nodes', 'no node is alive: nothing fires', 'Start one: carillon serve')
  if (leaderless > 0) {
    const hint = 'Other nodes take them within seconds; if this persists, read the logs of the nodes'
    return fail('nodes', `${leaderless} of ${shards} shards have no leader`, hint)
  }
  return ok('nodes', `${nodes} alive, they lead all ${shards} shards`)
}

async function examineOverdue(database: Database): Promise<Finding> {
  const { count, oldestMs } = await countOverdue(database, { lateMs: overdueMs, most: countedMost })
  if (count === 0) return ok('overdue jobs', 'none')
  const message = `${atLeast(count)} should have fired, the first ${seconds(oldestMs!)} ago`
  const hint = 'Are the nodes alive, and is the database fast enough? Add a node, or look into their logs'
  return count > overdueFail ? fail('overdue jobs', message, hint) : warn('overdue jobs', message, hint)
}

async function examineWorkers(database: Database): Promise<Finding[]> {
  const { live, silent } = await readSilentWorkers(database, suspectMs)
  if (silent.length === 0) return [ok('workers', `${live} live`)]
  return silent.map(({ name, workerId, silentMs, running }) => {
    const holds = running > 0 ? `, holds ${running} executions` : ''
    const what = silentMs >= lostMs ? 'lost' : 'suspect'
    const message = `${name} (${workerId}) is ${what}: silent for ${seconds(silentMs)}${holds}`
    return warn('workers', message, 'Look whether its process lives; its executions are retried elsewhere')
  })
}

async function examinePools(database: Database): Promise<Finding[]> {
  const stranded = await readStrandedPools(database, lostMs)
  if (stranded.length === 0) return [ok('pools', 'all ready work has a live worker')]
  return stranded.map(({ pool: name, tenant, paused, workers }) => {
    const pool = tenant === null ? name : `${name} of tenant ${tenant}`
    if (paused)
      return warn(
        'pools',
        `${pool} is paused and work waits there`,
        `Run: carillon pools resume ${name}${tenant === null ? '' : ` --tenant ${tenant}`}`,
      )
    const message = `work waits in ${pool} and ${workers} live workers serve it`
    return fail('pools', message, `Start a worker with a handler of the pool ${pool}`)
  })
}

async function examineDeadLetters(database: Database): Promise<Finding> {
  const count = await countDeadLetters(database, { sinceMs: dayMs, most: countedMost })
  if (count === 0) return ok('dead letters', 'none in the last 24 h')
  return warn('dead letters', `${atLeast(count)} in the last 24 h`, 'See them: carillon dead-letters list')
}

/** A replica that was behind was promoted, or an older state restored. */
async function examineLosses(database: Database): Promise<Finding> {
  const loss = await readLastLoss(database, 30 * dayMs)
  if (loss === null) return ok('commits', 'no node has found that the database lost any')
  const [after, until] = [loss.keptUntil, loss.seenUntil].map((at) => at.toISOString())
  const message = `the database lost what was committed between ${after} and ${until}`
  return fail('commits', message, `See what is missing: carillon verify --from ${after}`)
}

async function examineVerification(database: Database): Promise<Finding[]> {
  const progress = await readProgress(database)
  if (progress === null || progress.stuckNow === 0) return []
  const message = `${progress.stuckNow} executions should have ended, or moved on, and have not`
  return [fail('stuck', message, 'See them: carillon verify --from 24h; one of them: carillon executions explain <id>')]
}

function atLeast(count: number): string {
  return count >= countedMost ? `${countedMost} or more` : String(count)
}

function seconds(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`
}
