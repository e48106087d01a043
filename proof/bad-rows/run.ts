/**
 * Arbitrary rows are put into every queue table by hand while tenants work. What must be true: nothing of theirs is late or
 * lost, every bad row leaves the queues, and what was set aside is named by the doctor.
 */
import { silentLogger } from '@carillon/contract/process'
import { createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import { serve } from '@carillon/server'
import { examine } from '@carillon/server/administration'
import pg from 'pg'
import { newId } from '../../packages/server/src/domain/identity.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { Random } from '../model/random.ts'
import { type BadTable, badRow, badTables, type Surroundings } from './generator.ts'
import { leftOver } from './left.ts'
import { type Put, prepare, putRows } from './put.ts'

export interface BadRowsOptions {
  databaseUrl: string
  seed: number
  /** For each table. */
  rows: number
  tenants: number
  /** How long the rows are put in for. */
  seconds: number
  /** How long the queues may take to be clear of them afterwards. */
  settleSeconds: number
  log?: (line: string) => void
}

export interface BadRowsResult {
  seed: number
  put: Record<string, Put>
  started: number
  worstLatenessMs: number
  p99LatenessMs: number
  /** Submissions that were acknowledged and did not succeed. */
  lost: number
  /** Handlers of the tenants that were started a second time. */
  again: number
  /** Longest time without a fire, for each tenant's schedule; the worst. */
  longestSilenceMs: number
  quarantined: number
  named: number
  left: Record<string, number>
  settledMs: number
}

const work = defineHandler<{ tenant: string }>({ name: 'work' })
const everySec = 2

export async function runBadRows(options: BadRowsOptions): Promise<BadRowsResult> {
  const { databaseUrl, seed, rows, tenants, seconds, settleSeconds, log = () => {} } = options
  const engine = { workerLostMs: 15_000, heartbeatEveryMs: 1_000, sweepEveryMs: 500, pollMs: 200 }
  const node = await serve({ databaseUrl, port: 0, engine }, createLogger('fatal'))
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const lateness: number[] = []
  const lastFire = new Map<string, number>()
  let silence = 0
  let again = 0
  const handlers = [
    implementHandler(
      work,
      (ctx) => {
        if (!ctx.tenant.startsWith('tenant-')) return
        const now = Date.now()
        // An attempt after the first is late by what went wrong before it.
        if (ctx.attempt === 1) lateness.push(now - ctx.dueAt.getTime())
        else again++
        if (ctx.payload.tenant !== undefined) return
        silence = Math.max(silence, now - (lastFire.get(ctx.tenant) ?? now))
        lastFire.set(ctx.tenant, now)
      },
      { concurrency: 200 },
    ),
  ]
  const worker = createWorker({ urls: node.url, handlers, logger: silentLogger, drainSec: 1 })
  await worker.start()
  const names = Array.from({ length: tenants }, (_, i) => `tenant-${i}`)
  const clients = names.map((tenant) => createClient({ urls: node.url, tenant }))
  try {
    const schedule = { type: 'INTERVAL', interval: `PT${everySec}S`, target: { handler: 'work' }, payload: {} } as const
    for (const each of clients) await each.call('createJob', { body: schedule })
    const around = await surroundings(client, node.url)
    await prepare(client)
    log(`${tenants} tenants work; putting ${rows} rows into each of ${badTables.length} tables`)
    const submitted: string[] = []
    let putting = true
    const submitting = submit(clients, names, () => putting, submitted)
    const put = await putAll(client, { seed, rows, seconds, around })
    const settled = Date.now()
    let left = await leftOver(client, 2_000)
    while (Object.keys(left).length > 0 && Date.now() - settled < settleSeconds * 1_000) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      left = await leftOver(client, 2_000)
    }
    const settledMs = Date.now() - settled
    putting = false
    await submitting
    const lost = await lostOf(client, submitted)
    const quarantined = (await client.query('select count(*)::int n from carillon.quarantine')).rows[0].n
    lateness.sort((a, b) => a - b)
    return {
      ...{ seed, put, started: lateness.length, worstLatenessMs: lateness.at(-1) ?? 0 },
      p99LatenessMs: lateness[Math.floor(lateness.length * 0.99)] ?? 0,
      lost,
      again,
      longestSilenceMs: Math.max(silence, ...[...lastFire.values()].map((at) => Date.now() - at)),
      ...{ quarantined, named: await namedByDoctor(databaseUrl), left, settledMs },
    }
  } finally {
    await worker.stop()
    for (const each of clients) await each.close()
    await client.end()
    await node.stop()
  }
}

/** Each tenant submits once a second. */
async function submit(
  clients: ReturnType<typeof createClient>[],
  names: string[],
  goesOn: () => boolean,
  submitted: string[],
): Promise<void> {
  await Promise.all(
    clients.map(async (each, i) => {
      await new Promise((resolve) => setTimeout(resolve, (1_000 * i) / clients.length))
      while (goesOn()) {
        submitted.push((await each.enqueue(work, { tenant: names[i]! })).executionId)
        await new Promise((resolve) => setTimeout(resolve, 1_000))
      }
    }),
  )
}

/** Submissions that were acknowledged and did not succeed, not even when they were waited for. */
async function lostOf(client: pg.Client, submitted: string[]): Promise<number> {
  const sql = `select count(*)::int n from unnest($1::uuid[]) i
    where not exists (select from carillon.executions e where e.execution_id = i and e.state = 'SUCCEEDED')`
  let lost = submitted.length
  for (let tries = 0; lost > 0 && tries < 60; tries++) {
    if (tries > 0) await new Promise((resolve) => setTimeout(resolve, 500))
    lost = (await client.query(sql, [submitted])).rows[0].n
  }
  return lost
}

/** Executions and jobs that bad rows may point at, of a tenant that nobody looks at. */
async function surroundings(client: pg.Client, url: string): Promise<Surroundings> {
  const executions: string[] = []
  const target = { pool: 'nobody-serves-this', handler: 'work' }
  const ask = async (body: unknown) => {
    const headers = { 'content-type': 'application/json', 'carillon-tenant': 'hand' }
    return (await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  }
  await client.query(`insert into carillon.pools (pool) values ('nobody-serves-this') on conflict do nothing`)
  for (let i = 0; i < 30; i++) executions.push(((await ask({ type: 'ONE_SHOT', target })) as { jobId: string }).jobId)
  // Some whose ledger rows are bad themselves.
  await client.query(`update carillon.executions set history = '{"no": "list"}' where execution_id = any ($1)`, [
    executions.slice(0, 10),
  ])
  return { executions, jobs: Array.from({ length: 10 }, () => newId(Date.now())), pools: ['default'] }
}

/** All tables in turn, a part at a time, spread over the time given. */
async function putAll(
  client: pg.Client,
  { seed, rows, seconds, around }: { seed: number; rows: number; seconds: number; around: Surroundings },
): Promise<Record<BadTable, Put>> {
  const random = new Random(seed)
  const put = Object.fromEntries(badTables.map((table) => [table, { put: 0, refused: 0 }])) as Record<BadTable, Put>
  const parts = Math.max(1, Math.min(seconds * 2, Math.ceil(rows / 10)))
  const began = Date.now()
  for (let part = 0; part < parts; part++) {
    const count = Math.round((rows * (part + 1)) / parts) - Math.round((rows * part) / parts)
    for (const table of badTables) {
      const made = Array.from({ length: count }, () => badRow(table, random, around, Date.now()))
      const { put: taken, refused } = await putRows(client, table, made)
      put[table].put += taken
      put[table].refused += refused
      if (table === 'jobs')
        await standJobs(
          client,
          made.map(({ job_id }) => String(job_id)),
        )
    }
    const wait = began + ((part + 1) * seconds * 1_000) / parts - Date.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
  }
  return put
}

/** Jobs put in by hand are due at once. */
async function standJobs(client: pg.Client, ids: string[]): Promise<void> {
  await client.query(
    `insert into carillon.schedules (job_id, shard, version, nominal, due)
     select j.job_id, carillon.shard_of(j.job_id, n.shard_count), j.version, date_trunc('second', now()), now()
     from carillon.jobs j cross join carillon.installation n where j.job_id = any ($1::uuid[])`,
    [ids],
  )
}

/** Of the rows in quarantine, how many the doctor counts. */
async function namedByDoctor(databaseUrl: string): Promise<number> {
  const findings = (await examine({ databaseUrl })).filter(({ check }) => check === 'quarantine')
  return findings.slice(1).reduce((sum, { message }) => sum + Number(/: (\d+) rows?,/.exec(message)?.[1] ?? 0), 0)
}
