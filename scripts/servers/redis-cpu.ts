/**
 * Measures what heartbeats and status reads cost PostgreSQL, without and with Redis, in turns:
 * `npx node scripts/servers/redis-cpu.ts [rounds] [executions a second] [running]`. Executions are submitted, leased and reported at a
 * steady rate; 2,000 workers are heard each second; 5,000 status reads a second go to the executions of the last five seconds, most of
 * which have ended. With `running`, they go to that many executions which run all the time, and the fewer reads each of them
 * gets, the less a cache helps.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { redisAddress } from '../../packages/server/src/config/redis-address.ts'
import { newId } from '../../packages/server/src/domain/identity.ts'
import { monotonicMs } from '../../packages/server/src/lib/clock.ts'
import type { WorkerLiveness } from '../../packages/server/src/liveness/port.ts'
import { PostgresLiveness } from '../../packages/server/src/liveness/postgres.ts'
import { RedisLiveness } from '../../packages/server/src/liveness/redis.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { RedisConnection } from '../../packages/server/src/redis/connection.ts'
import type { StatusReads } from '../../packages/server/src/status-reads/port.ts'
import { PostgresStatusReads } from '../../packages/server/src/status-reads/postgres.ts'
import { RedisStatusReads } from '../../packages/server/src/status-reads/redis.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { registerWorker } from '../../packages/server/src/store/workers/register.ts'
import { Partitioner } from '../../packages/server/src/upkeep/partitioner.ts'
import { createDatabase, startPostgres18 } from '../../test/support/postgres.ts'
import { endOf, noThread, TestStore, tenant } from '../../test/support/store.ts'
import { startRedis } from './redis.ts'

const rounds = Number(process.argv[2] ?? 3)
const executionsPerSec = Number(process.argv[3] ?? 200)
const runningCount = Number(process.argv[4] ?? 0)
const [workers, readsPerSec, secondsPerRun] = [2_000, 5_000, 20]
const lostMs = 30_000
const clock = { now: monotonicMs }
const logger = createLogger('silent')

const postgres = await startPostgres18()
await using server = await startRedis()
const home = await createDatabase({ server: postgres.url })
const first = new Database({ url: home.url, maxConnections: 2, statementTimeoutMs: 20_000, applicationName: 'set-up' })
await migrate(first, { shardCount: 4, partitionHours: 24, retentionDays: 30 })
await new Partitioner({ database: first, clock, logger }).createMissing()
await first.end()
const store = new TestStore(home, 6)
const { database } = store
const redis = new RedisConnection({
  address: redisAddress(server.url, 'signals'),
  installationId: async () => 'cpu',
  logger,
})
await redis.start()

const workerIds = Array.from({ length: workers }, () => newId(Date.now()))
for (const workerId of workerIds)
  await registerWorker(database, { workerId, nodeId: newId(1), tenant: null, name: 'worker', pools: [] })
const running: string[] = []
for (let at = 0; at < runningCount; at += 500) {
  await store.submit(500)
  running.push(...(await store.lease(500)).map(({ executionId }) => executionId))
}
const [{ pid }] = (await database.query<{ pid: number }>(null, 'select pg_backend_pid() pid')) as [{ pid: number }]
const postmaster = parentOf(pid)

/** Fields of /proc/<pid>/stat after the name. */
function statOf(id: number | string): string[] {
  const text = readFileSync(`/proc/${id}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

function parentOf(id: number | string): number {
  return Number(statOf(id)[1])
}

/** CPU of the server and all its processes, those that have ended too, in ms. */
function cpuMs(): number {
  let ticks = 0
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = statOf(id)
      const isServer = Number(id) === postmaster
      if (!isServer && Number(stat[1]) !== postmaster) continue
      ticks += Number(stat[11]) + Number(stat[12]) + (isServer ? Number(stat[13]) + Number(stat[14]) : 0)
    } catch {
      // It has ended meanwhile.
    }
  }
  return ticks * 10
}

async function run(liveness: WorkerLiveness, reads: StatusReads) {
  const recent: string[] = []
  let [executions, answered, beats, late] = [0, 0, 0, 0]
  const slices = 20
  const began = performance.now()
  const before = cpuMs()
  for (let slice = 0; slice < secondsPerRun * slices; slice++) {
    const ids = await store.submit(executionsPerSec / slices)
    recent.push(...ids)
    if (recent.length > executionsPerSec * 5) recent.splice(0, ids.length)
    const reading = Array.from({ length: readsPerSec / slices }, async () => {
      const asked = running.length > 0 ? running : recent
      const executionId = asked[Math.floor(Math.random() * asked.length)]!
      await reads.find({ tenant, executionId })
      answered++
    })
    const share = workers / slices
    const at = (slice % slices) * share
    const hearing = liveness.heard(workerIds.slice(at, at + share)).then((known) => {
      beats += known.size
    })
    // What was submitted a second ago ends now.
    const held = slice >= slices ? await store.lease(executionsPerSec / slices) : []
    if (held.length > 0) await store.settle(held.map((each) => endOf(each)))
    executions += held.length
    await Promise.all([...reading, hearing])
    const left = ((slice + 1) * 1_000) / slices - (performance.now() - began)
    if (left > 0) await sleep(left)
    else late++
  }
  const seconds = (performance.now() - began) / 1_000
  const cpu = cpuMs() - before
  const rate = (count: number) => Math.round(count / seconds)
  return {
    cpuMsPerExecution: Number((cpu / executions).toFixed(2)),
    ...{ executionsPerSec: rate(executions), readsPerSec: rate(answered), heartbeatsPerSec: rate(beats) },
    ...{ lateSlices: late, load: readFileSync('/proc/loadavg', 'utf8').split(' ')[0] },
  }
}

const options = { database, keepAlive: noThread, logger, everyMs: 1_000, lostMs }
const truth = new PostgresStatusReads(database)
for (let round = 0; round < rounds; round++) {
  console.log('PostgreSQL ', await run(new PostgresLiveness(options), truth))
  const liveness = new RedisLiveness({ ...options, redis })
  console.log('with Redis ', await run(liveness, new RedisStatusReads({ redis, postgres: truth, clock })))
}
await redis.stop()
await store[Symbol.asyncDispose]()
await postgres.stop()
