/**
 * What is wrong with an installation, read from its database. It changes nothing and counts nothing without a bound, so
 * it may be run on a system in trouble. Every warning or failure says what to do.
 */
import { monotonicMs, OffsetClock } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import { readSchemaVersion } from '../store/doctor/installation.ts'
import {
  readHeldBack,
  readServerFacts,
  readServerSettings,
  type ServerFacts,
  type ServerSettings,
} from '../store/doctor/server.ts'
import { newestMigration } from '../store/migrate.ts'
import { readInstallation } from '../store/partitions/manage.ts'
import { type DatabasePlace, onDatabase } from './connection.ts'
import { examineInstallation } from './doctor-installation.ts'
import { examineKafka } from './doctor-kafka.ts'
import { examineRedis } from './doctor-redis.ts'
import { examineTimeZones } from './doctor-zones.ts'
import { type Finding, fail, ok, warn } from './findings.ts'

/** The alert rules warn at the first; from the second on, times in the ledger cannot be compared with this machine's. */
const clockWarnMs = 100
const clockFailMs = 1_000
const heldWarnMs = 60_000
const heldFailMs = 3_600_000
/** With the defaults: its pool, its keep-alive thread, one that listens. */
const connectionsOfNode = 12

/**
 * Examines an installation. `redis`: the URLs that its nodes have for hotWindow and signals. `queue`: what they have for it.
 *
 * @example
 * ```ts
 * import { examine } from '@carillon/server/administration'
 *
 * const findings = await examine({ databaseUrl: 'postgres://…' }, { redis: ['redis://…'] })
 * for (const { status, check, message } of findings) console.log(status, check, message)
 * ```
 */
export function examine(
  place: DatabasePlace,
  { redis = [], queue }: { redis?: string[]; queue?: string } = {},
): Promise<Finding[]> {
  return onDatabase(place, async (database) => {
    const clock = new OffsetClock()
    await readServerFacts(database) // The first answer waits for the connection; the clock is read from the second.
    const asked = monotonicMs()
    const facts = await readServerFacts(database)
    clock.measured(facts.now, asked, monotonicMs())
    const schema = await examineSchema(database)
    const findings = [examineVersion(facts), schema, examineClock(clock.offsetMs), examineConnections(facts)]
    findings.push(...examineSettings(await readServerSettings(database)))
    findings.push(...(await examineVacuum(database, facts)))
    if (schema.status !== 'FAIL') {
      findings.push(await examineTimeZones(database, facts.now))
      findings.push(...(await examineInstallation(database, facts.now)))
      const { installationId } = await readInstallation(database)
      for (const url of new Set(redis)) findings.push(...(await examineRedis(url, installationId)))
      if (queue !== undefined) findings.push(...(await examineKafka(queue, 'queue')))
    }
    return findings
  })
}

function examineVersion({ version, versionNumber }: ServerFacts): Finding {
  if (versionNumber >= 150_000) return ok('server', `PostgreSQL ${version}`)
  return fail('server', `PostgreSQL ${version} is too old`, 'Carillon needs PostgreSQL 15 or later')
}

async function examineSchema(database: Database): Promise<Finding> {
  const known = newestMigration()
  const version = await readSchemaVersion(database)
  if (version === null)
    return fail('schema', 'the database has no Carillon in it', 'Start a node on it, or run: carillon migrate')
  if (version < known) return warn('schema', `version ${version}, this program has ${known}`, 'Run: carillon migrate')
  if (version > known)
    return warn('schema', `version ${version}, this program has ${known}`, 'Use the version that runs on the nodes')
  return ok('schema', `version ${version}`)
}

function examineClock(offsetMs: number): Finding {
  const off = Math.round(Math.abs(offsetMs))
  const message = `this machine is ${off} ms ${offsetMs > 0 ? 'behind' : 'ahead of'} the database`
  const hint = 'Let both follow a time server (chrony, systemd-timesyncd)'
  if (off >= clockFailMs) return fail('clock', message, hint)
  return off >= clockWarnMs ? warn('clock', message, hint) : ok('clock', message)
}

function examineConnections(facts: ServerFacts): Finding {
  const { maxConnections, reservedConnections, connections, ownConnections } = facts
  const free = maxConnections - reservedConnections - connections
  const message = `${connections} of ${maxConnections} in use, ${ownConnections} of them Carillon’s`
  const hint = 'Raise max_connections, lower maxConnections of the nodes, or put PgBouncer between'
  if (free <= 0) return fail('connections', message, hint)
  if (free < connectionsOfNode) return warn('connections', `${message}: not enough for one more node`, hint)
  return ok('connections', message)
}

function examineSettings({ values, jitAvailable, inRecovery, compiled }: ServerSettings): Finding[] {
  const findings: Finding[] = []
  const isOff = (name: keyof typeof values, message: string) => {
    if (values[name] === 'off')
      findings.push(warn('settings', `${name} is off: ${message}`, `Set ${name} = on, unless the data may be lost`))
  }
  if (inRecovery)
    findings.push(fail('settings', 'this server is a standby: nothing can be written', 'Give the URL of the primary'))
  if (values.default_transaction_read_only === 'on')
    findings.push(
      fail(
        'settings',
        'default_transaction_read_only is on: nothing can be written',
        'Set it to off for this database and role',
      ),
    )
  isOff('fsync', 'a crash of the machine can damage the database')
  isOff('full_page_writes', 'a crash of the machine can damage the database')
  isOff('synchronous_commit', 'a crash loses the last commits, acknowledged work among them')
  if (values.jit === 'on' && jitAvailable && compiled.length > 0)
    findings.push(
      fail(
        'settings',
        `jit is on and ${compiled.length} functions may be compiled, a second or more each call: ${compiled.slice(0, 3).join(', ')}`,
        'Run carillon migrate, which switches it off for them, or: alter database … set jit = off',
      ),
    )
  if (findings.length > 0) return findings
  const jit =
    values.jit === 'on' && jitAvailable ? 'jit is on, and off for Carillon’s functions and nodes' : 'jit is off'
  return [ok('settings', `writes are durable; ${jit}`)]
}

async function examineVacuum(database: Database, { autovacuum }: ServerFacts): Promise<Finding[]> {
  const findings: Finding[] = []
  if (!autovacuum) findings.push(fail('vacuum', 'autovacuum is off', 'Turn it on: set autovacuum = on and reload'))
  const held = (await readHeldBack(database)).filter(({ ageMs }) => ageMs === null || ageMs >= heldWarnMs)
  for (const { kind, id, who, state, ageMs, transactions } of held) {
    const since = ageMs === null ? '' : `, open for ${minutes(ageMs)}`
    const message = `${names[kind]} ${id} (${who}, ${state}${since}) holds back ${transactions} transactions`
    const report = ageMs !== null && ageMs >= heldFailMs ? fail : warn
    findings.push(report('vacuum', message, endings[kind](id)))
  }
  return findings.length > 0 ? findings : [ok('vacuum', 'nothing holds it back')]
}

const names = { SESSION: 'session', PREPARED: 'prepared transaction', SLOT: 'replication slot' } as const

const endings = {
  SESSION: (id: string) => `End it: select pg_terminate_backend(${id})`,
  PREPARED: (id: string) => `End it: rollback prepared '${id}'`,
  SLOT: (id: string) => `If nobody uses it: select pg_drop_replication_slot('${id}')`,
} as const

function minutes(ms: number): string {
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}
