/**
 * Worker processes over HTTP on node processes while work is submitted steadily. The node with the most workers is killed
 * with -9, for good. Afterwards every submission must have SUCCEEDED; how long nothing was completed, and how many runs
 * were doubled, is told.
 *
 *   npm run cluster:workers -- --seconds 60 --rate 1000
 */
import { silentLogger } from '@carillon/contract/process'
import { createClient } from '@carillon/sdk'
import type { EngineSettings } from '@carillon/server'
import pg from 'pg'
import { poll } from '../../packages/embedded/src/waiting.ts'
import { Processes, type Run } from './processes.ts'
import { spend } from './remote-worker-process.ts'

export interface TenWorkersOptions {
  databaseUrl: string
  nodes: number
  workers: number
  /** Per worker. */
  slots: number
  seconds: number
  /** Submissions per second. */
  rate: number
  engine?: EngineSettings
  log?: (line: string) => void
}

export interface TenWorkersResult {
  submitted: number
  /** In the ledger, by state. */
  states: Record<string, number>
  /** Executions whose handler began more than once: after a lost worker or answer, as promised. */
  repeated: number
  /** The longest time without a completion while work was being submitted, and that around the kill. */
  longestGapMs: number
  gapAtKillMs: number
  /** Workers that said they were healthy at the end. */
  healthy: number
}

const batchMs = 100
const aroundKillMs = 10_000

export async function tenWorkers(options: TenWorkersOptions): Promise<TenWorkersResult> {
  const { databaseUrl, engine, log = () => {} } = options
  await using processes = await Processes.open()
  const sql = new pg.Client({ connectionString: databaseUrl, application_name: 'referee' })
  await sql.connect()
  try {
    const nodes = await series(options.nodes, (n) => processes.node(databaseUrl, { ...engine, nodeName: `node-${n}` }))
    const urls = nodes.map(({ url }) => url)
    const workers = await Promise.all(
      Array.from({ length: options.workers }, (_, n) => processes.worker(`w${n}`, { urls, slots: options.slots })),
    )
    const spread = await workersByNode(sql)
    log(`${options.workers} workers of ${options.slots} slots on ${options.nodes} nodes: ${[...spread.values()]}`)
    let killedAt = 0
    const kill = async () => {
      killedAt = await serverTime(sql)
      nodes.find(({ nodeId }) => nodeId === [...spread.keys()][0])!.child.kill('SIGKILL')
      log('killed the node with the most workers with -9')
    }
    const submitted = await submit(options, urls, kill)
    log(`submitted ${submitted}; waiting for the rest`)
    await settled(sql)
    const health = await Promise.all(workers.map(askHealth))
    const runs = await processes.runs()
    return {
      submitted,
      states: await statesOf(sql),
      repeated: repeatedIn(runs),
      ...gapsIn(runs, killedAt),
      healthy: health.filter((each) => each.healthy).length,
    }
  } finally {
    await sql.end()
  }
}

/** Batches at a steady rate; `kill` comes when a third of the time is over. Answers how many were taken. */
async function submit(options: TenWorkersOptions, urls: string[], kill: () => Promise<void>): Promise<number> {
  const { rate, seconds } = options
  // Patient: the node it speaks to may be the one that is killed. What it repeats is taken once.
  await using client = createClient({ urls, patienceMs: 30_000, logger: silentLogger })
  const size = Math.round((rate * batchMs) / 1_000)
  const batches = (seconds * 1_000) / batchMs
  const begin = performance.now()
  const under: Promise<unknown>[] = []
  for (let batch = 0; batch < batches; batch++) {
    const leftMs = begin + batch * batchMs - performance.now()
    if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs))
    if (batch === Math.floor(batches / 3)) await kill()
    const payloads = Array.from({ length: size }, (_, n) => ({ ms: n % 10 === 0 ? 200 : 5 }))
    under.push(client.enqueueMany(spend, payloads))
  }
  await Promise.all(under)
  return size * batches
}

async function settled(sql: pg.Client): Promise<void> {
  const done = await poll(
    async () => {
      const { rows } = await sql.query(`
        select (select count(*) from carillon.ready) + (select count(*) from carillon.running)
          + (select count(*) from carillon.retries) + (select count(*) from carillon.waiting) n`)
      return Number(rows[0].n) === 0 ? true : undefined
    },
    { everyMs: 100, forMs: 120_000 },
  )
  if (!done) throw new Error('work is left over two minutes after the end')
}

async function statesOf(sql: pg.Client): Promise<Record<string, number>> {
  const { rows } = await sql.query(
    `select coalesce(state, 'UNFINISHED') state, count(*)::int n from carillon.executions group by 1`,
  )
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]))
}

/** Where they were announced, most workers first. Nodes have workers of their own, for other pools. */
async function workersByNode(sql: pg.Client): Promise<Map<string, number>> {
  const { rows } = await sql.query(
    `select node_id, count(*)::int n from carillon.workers where pools @> '[{"pool": "default"}]'
     group by node_id order by n desc`,
  )
  return new Map(rows.map(({ node_id, n }) => [node_id, n]))
}

function repeatedIn(runs: Run[]): number {
  const begun = new Map<string, number>()
  for (const { what, executionId } of runs) {
    if (what === 'began') begun.set(executionId, (begun.get(executionId) ?? 0) + 1)
  }
  return [...begun.values()].filter((n) => n > 1).length
}

function gapsIn(runs: Run[], killedAt: number): { longestGapMs: number; gapAtKillMs: number } {
  const ends = runs.filter(({ what }) => what === 'ended').map(({ at }) => at)
  ends.sort((a, b) => a - b)
  let [longestGapMs, gapAtKillMs] = [0, 0]
  for (let n = 1; n < ends.length; n++) {
    const gap = ends[n]! - ends[n - 1]!
    longestGapMs = Math.max(longestGapMs, gap)
    const nearKill = ends[n]! >= killedAt && ends[n - 1]! <= killedAt + aroundKillMs
    if (nearKill) gapAtKillMs = Math.max(gapAtKillMs, gap)
  }
  return { longestGapMs, gapAtKillMs }
}

function askHealth(worker: Awaited<ReturnType<Processes['worker']>>): Promise<{ healthy: boolean }> {
  return new Promise((resolve) => {
    worker.once('message', (health) => resolve(health as { healthy: boolean }))
    worker.send('health')
  })
}

async function series<T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> {
  const made: T[] = []
  for (let n = 0; n < count; n++) made.push(await make(n))
  return made
}

async function serverTime(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query('select carillon.ms(clock_timestamp()) ms')
  return Number(rows[0].ms)
}

if (import.meta.main) {
  const { mkdtemp, rm } = await import('node:fs/promises')
  const { tmpdir } = await import('node:os')
  const { join } = await import('node:path')
  const { parseArgs } = await import('node:util')
  const { startEmbeddedPostgres } = await import('../../packages/embedded/src/index.ts')
  const { values } = parseArgs({ options: { seconds: { type: 'string' }, rate: { type: 'string' } } })
  const dataDir = await mkdtemp(join(tmpdir(), 'carillon-cluster-db-'))
  const postgres = await startEmbeddedPostgres({ dataDir })
  try {
    const result = await tenWorkers({
      databaseUrl: postgres.url,
      ...{ nodes: 3, workers: 10, slots: 100 },
      seconds: Number(values.seconds ?? 60),
      rate: Number(values.rate ?? 1_000),
      log: console.log,
    })
    console.log(JSON.stringify(result, null, 2))
    const whole = result.states.SUCCEEDED === result.submitted && Object.keys(result.states).length === 1
    process.exitCode = whole && result.gapAtKillMs <= 5_000 && result.healthy === 10 ? 0 : 1
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true })
  }
}
