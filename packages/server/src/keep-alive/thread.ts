/** The thread behind KeepAliveThread. It holds one connection and connects again when it breaks. */
import { parentPort, workerData } from 'node:worker_threads'
import { PostgresClient } from '../lib/postgres-client.ts'
import { sessionSettings } from '../store/database.ts'
import { renewLeaseSql } from '../store/shards/claim.ts'
import { seeWorkersSql } from '../store/workers/register.ts'
import type { FromThread, KeepAliveSettings, NodeLease, ToThread } from './keep-alive.ts'

const { settings, life } = workerData as { settings: KeepAliveSettings; life: Int32Array }
const { answerWithinMs } = settings

let workerIds: string[] = []
let lease: NodeLease | null = null
let client = null as PostgresClient | null
let lifeSeen = -1
let lifeSeenAt = performance.now()
let workersSeenAt = Number.NEGATIVE_INFINITY
/** The main thread waits for the first renewal of its lease. */
let awaited = false
let stopping = false
let round = Promise.resolve()
let woken = false
let wake = () => {}

parentPort!.on('message', (message: ToThread) => {
  if ('stop' in message) stopping = true
  else if ('lease' in message) {
    lease = message.lease
    awaited = lease !== null
    if (lease === null) void round.then(() => post({ released: true }))
  } else {
    workerIds = message.workerIds
    workersSeenAt = Number.NEGATIVE_INFINITY
  }
  woken = true
  wake()
})

while (!stopping) {
  woken = false
  round = runRound()
  await round
  if (!stopping && !woken) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, settings.renewEveryMs)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
await client?.end().catch(() => {})
parentPort!.close()

function post(message: FromThread): void {
  parentPort!.postMessage(message)
}

async function runRound(): Promise<void> {
  try {
    await renew()
    await seeWorkers()
  } catch (error) {
    post({ trouble: error instanceof Error ? error.message : String(error) })
    await client?.end().catch(() => {})
    client = null
  }
}

async function renew(): Promise<void> {
  const alive = Atomics.load(life, 0)
  const now = performance.now()
  if (alive !== lifeSeen) {
    lifeSeen = alive
    lifeSeenAt = now
  }
  if (lease === null || now - lifeSeenAt >= lease.lifeMs) return
  const connection = client ?? (await connect())
  // Given up while we connected.
  if (lease === null) return
  await connection.query({
    ...{ name: 'renew-lease', text: renewLeaseSql, answerWithinMs },
    values: [lease.nodeId, lease.nodeName, lease.leaseMs, null],
  })
  if (awaited) post({ renewed: true })
  awaited = false
}

async function seeWorkers(): Promise<void> {
  const now = performance.now()
  if (workerIds.length === 0 || now - workersSeenAt < settings.workersEveryMs) return
  const connection = client ?? (await connect())
  await connection.query({ name: 'see-workers', text: seeWorkersSql, values: [workerIds, null], answerWithinMs })
  workersSeenAt = now
}

async function connect(): Promise<PostgresClient> {
  const fresh = new PostgresClient({
    connectionString: settings.databaseUrl,
    application_name: 'carillon keep-alive',
    keepAlive: true,
    connectionTimeoutMillis: answerWithinMs,
  })
  fresh.on('error', () => {
    if (client === fresh) client = null
  })
  await fresh.connect()
  await fresh.query({ text: sessionSettings(answerWithinMs), answerWithinMs })
  client = fresh
  return fresh
}
