/** The thread behind Pulse. It holds one connection and connects again when it breaks. */
import { parentPort, workerData } from 'node:worker_threads'
import { PostgresClient } from '../lib/postgres-client.ts'
import { sessionSettings } from '../store/database.ts'
import { renewLeaseSql } from '../store/shards/claim.ts'
import { seeWorkersSql } from '../store/workers/register.ts'
import type { PulseMessage, PulseSettings } from './pulse.ts'

const { settings, life } = workerData as { settings: PulseSettings; life: Int32Array }

let workerIds: string[] = []
let client = null as PostgresClient | null
let lifeSeen = -1
let lifeSeenAt = performance.now()
let workersSeenAt = Number.NEGATIVE_INFINITY
let told = false
let stopping = false
let wake = () => {}

parentPort!.on('message', (message: PulseMessage) => {
  if ('stop' in message) stopping = true
  else {
    workerIds = message.workerIds
    workersSeenAt = Number.NEGATIVE_INFINITY
  }
  wake()
})

while (!stopping) {
  try {
    await beat()
    if (!told) parentPort!.postMessage({ renewed: true })
    told = true
  } catch (error) {
    parentPort!.postMessage({ trouble: error instanceof Error ? error.message : String(error) })
    await client?.end().catch(() => {})
    client = null
  }
  if (!stopping) {
    await new Promise<void>((resolve) => {
      wake = resolve
      setTimeout(resolve, settings.renewEveryMs)
    })
  }
}
await client?.end().catch(() => {})
parentPort!.close()

async function beat(): Promise<void> {
  const connection = client ?? (await connect())
  const now = performance.now()
  const alive = Atomics.load(life, 0)
  if (alive !== lifeSeen) {
    lifeSeen = alive
    lifeSeenAt = now
  }
  if (now - lifeSeenAt < settings.lifeMs) {
    await connection.query({
      name: 'renew-lease',
      text: renewLeaseSql,
      values: [settings.nodeId, settings.nodeName, settings.leaseMs, null],
      answerWithinMs: settings.leaseMs,
    })
  }
  if (workerIds.length > 0 && now - workersSeenAt >= settings.workersEveryMs) {
    await connection.query({
      ...{ name: 'see-workers', text: seeWorkersSql, values: [workerIds, null] },
      answerWithinMs: settings.leaseMs,
    })
    workersSeenAt = now
  }
}

async function connect(): Promise<PostgresClient> {
  const fresh = new PostgresClient({
    connectionString: settings.databaseUrl,
    application_name: 'carillon pulse',
    keepAlive: true,
    connectionTimeoutMillis: settings.leaseMs,
  })
  fresh.on('error', () => {
    if (client === fresh) client = null
  })
  await fresh.connect()
  await fresh.query({ text: sessionSettings(settings.leaseMs), answerWithinMs: settings.leaseMs })
  client = fresh
  return fresh
}
