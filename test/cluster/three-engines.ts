/**
 * Three engines on one database while one-second jobs fire. One is killed with -9, one is paused past every lease (in
 * the middle of a FIRE) and resumed. Afterwards the ledger must hold every occurrence exactly once, all succeeded, and
 * the resumed one's late writes must have been refused and recorded.
 *
 *   npm run cluster -- --seconds 120 --jobs 2000
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { poll } from '../../packages/embedded/src/waiting.ts'
import { newId } from '../../packages/server/src/domain/identity.ts'
import { defineJob } from '../../packages/server/src/jobs/define.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { createWork } from '../../packages/server/src/store/jobs/create.ts'
import type { EngineProcessOptions } from './engine-process.ts'

export interface ThreeEnginesOptions {
  databaseUrl: string
  jobs: number
  seconds: number
  log?: (line: string) => void
}

export interface ThreeEnginesResult {
  expected: number
  fired: number
  missing: number
  skipped: number
  succeeded: number
  /** Attempts that were begun more than once for one execution: after a lost worker, as promised. */
  repeated: number
  refusedReports: number
  refusedFires: number
  pausedInFire: boolean
  longestGapMs: number
  p99LatenessMs: number
}

const settings = { workerLostMs: 4_000, heartbeatEveryMs: 1_000, pollMs: 500 }
const pauseMs = 9_000

export async function threeEngines(options: ThreeEnginesOptions): Promise<ThreeEnginesResult> {
  const { databaseUrl, seconds, log = () => {} } = options
  const folder = await mkdtemp(join(tmpdir(), 'carillon-cluster-'))
  const sql = new pg.Client({ connectionString: databaseUrl, application_name: 'referee' })
  await sql.connect()
  const engines: ChildProcess[] = []
  const launch = async (name: string) => {
    const child = await start(name, databaseUrl, folder)
    engines.push(child)
    return child
  }
  try {
    const [victim, sleeper] = [await launch('victim'), await launch('sleeper'), await launch('witness')]
    const from = await createBeats(options, sql)
    const at = (share: number) => from + seconds * 1_000 * share
    await waitUntil(sql, at(0.2))
    victim!.kill('SIGKILL')
    log('killed one engine with -9')
    await waitUntil(sql, at(0.35))
    const pausedInFire = await pauseInFire(sql, sleeper!)
    log(`paused one engine${pausedInFire ? ' in the middle of a FIRE' : ''}`)
    await waitUntil(sql, Math.max(at(0.35) + pauseMs, await serverTime(sql)))
    sleeper!.kill('SIGCONT')
    log('resumed it')
    await waitUntil(sql, at(1) + 1_000)
    await settled(sql)
    return { ...(await judge(sql, options)), repeated: await repeatedRuns(folder), pausedInFire }
  } finally {
    for (const child of engines) {
      child.kill('SIGCONT')
      child.kill('SIGKILL')
    }
    await sql.end()
    await rm(folder, { recursive: true })
  }
}

async function start(name: string, databaseUrl: string, folder: string): Promise<ChildProcess> {
  const options: EngineProcessOptions = {
    databaseUrl,
    runsFile: join(folder, `${name}.runs`),
    settings: { ...settings, nodeName: name },
    slowEvery: 10,
    slowMs: 1_500,
  }
  const child = fork(new URL('./engine-process.ts', import.meta.url), [JSON.stringify(options)], { stdio: 'inherit' })
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}`)))
  })
  return child
}

/** One-second jobs of 20 tenants, between two instants: which occurrences there are is known beforehand. */
async function createBeats(options: ThreeEnginesOptions, sql: pg.Client): Promise<number> {
  const now = await serverTime(sql)
  const from = Math.ceil(now / 1_000) * 1_000 + 3_000
  const database = new Database({
    url: options.databaseUrl,
    maxConnections: 2,
    statementTimeoutMs: 30_000,
    applicationName: 'beats',
  })
  const jobs = Array.from({ length: options.jobs }, (_, job) => {
    const input = {
      type: 'CRON' as const,
      schedule: '* * * * * *',
      startAt: from,
      endAt: from + (options.seconds - 1) * 1_000,
      target: { handler: 'beat' },
      retryPolicy: { initialDelayMs: 100 },
    }
    const tenant = `tenant-${job % 20}`
    const definition = defineJob(input, {
      jobId: newId(Math.floor(now)),
      tenant,
      payload: JSON.stringify({ job }),
      now,
    })
    return { definition, nominal: from, due: from, createdAt: Math.floor(now) }
  })
  await createWork(database, { jobs, actor: 'beats' })
  await database.end()
  return from
}

/** Stops the process while one of its connections executes FIRE; the backend finishes it without its client. */
async function pauseInFire(sql: pg.Client, child: ChildProcess): Promise<boolean> {
  const caught = await poll(
    async () => {
      const { rowCount } = await sql.query(
        `select from pg_stat_activity where state = 'active' and application_name = 'carillon sleeper' and query like '%carillon.fire(%'`,
      )
      if (!rowCount) return undefined
      child.kill('SIGSTOP')
      return true
    },
    { everyMs: 1, forMs: 5_000 },
  )
  if (!caught) child.kill('SIGSTOP')
  return caught === true
}

async function settled(sql: pg.Client): Promise<void> {
  const done = await poll(
    async () => {
      const { rows } = await sql.query(`
        select (select count(*) from carillon.ready) + (select count(*) from carillon.running)
          + (select count(*) from carillon.retries) + (select count(*) from carillon.waiting)
          + (select count(*) from carillon.schedules where due is not null) n`)
      return Number(rows[0].n) === 0 ? true : undefined
    },
    { everyMs: 100, forMs: 60_000 },
  )
  if (!done) throw new Error('work is left over a minute after the end')
}

async function judge(
  sql: pg.Client,
  options: ThreeEnginesOptions,
): Promise<Omit<ThreeEnginesResult, 'repeated' | 'pausedInFire'>> {
  const { rows } = await sql.query(`
    select count(*)::int fired, count(distinct (job_id, scheduled_for))::int distinct_fired,
      count(*) filter (where state = 'SKIPPED')::int skipped, count(*) filter (where state = 'SUCCEEDED')::int succeeded,
      max(extract(epoch from fired_at - due_at) * 1000)::int gap,
      percentile_disc(0.99) within group (order by extract(epoch from fired_at - due_at) * 1000)::int p99
    from carillon.executions`)
  const audit = await sql.query('select action, count(*)::int n from carillon.audit group by action')
  const recorded = (action: string) => audit.rows.find((row) => row.action === action)?.n ?? 0
  const expected = options.jobs * options.seconds
  const { fired, distinct_fired, skipped, succeeded, gap, p99 } = rows[0]
  if (fired !== distinct_fired) throw new Error(`${fired - distinct_fired} occurrences are in the ledger twice`)
  return {
    expected,
    fired,
    missing: expected - fired,
    skipped,
    succeeded,
    refusedReports: recorded('execution.report_refused'),
    refusedFires: recorded('shard.write_refused'),
    longestGapMs: gap,
    p99LatenessMs: p99,
  }
}

async function repeatedRuns(folder: string): Promise<number> {
  const seen = new Map<string, number>()
  for (const name of ['victim', 'sleeper', 'witness']) {
    for (const line of (await readFile(join(folder, `${name}.runs`), 'utf8')).split('\n')) {
      const id = line.split(' ')[0]!
      if (id !== '') seen.set(id, (seen.get(id) ?? 0) + 1)
    }
  }
  return [...seen.values()].filter((n) => n > 1).length
}

async function serverTime(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query('select carillon.ms(clock_timestamp()) ms')
  return Number(rows[0].ms)
}

async function waitUntil(sql: pg.Client, at: number): Promise<void> {
  await poll(async () => ((await serverTime(sql)) >= at ? true : undefined), { everyMs: 50, forMs: 600_000 })
}

if (import.meta.main) {
  const { parseArgs } = await import('node:util')
  const { startEmbeddedPostgres } = await import('../../packages/embedded/src/index.ts')
  const { values } = parseArgs({ options: { seconds: { type: 'string' }, jobs: { type: 'string' } } })
  const dataDir = await mkdtemp(join(tmpdir(), 'carillon-cluster-db-'))
  const postgres = await startEmbeddedPostgres({ dataDir })
  try {
    const result = await threeEngines({
      databaseUrl: postgres.url,
      seconds: Number(values.seconds ?? 120),
      jobs: Number(values.jobs ?? 2_000),
      log: console.log,
    })
    console.log(JSON.stringify(result, null, 2))
    process.exitCode = result.missing === 0 && result.skipped === 0 && result.succeeded === result.expected ? 0 : 1
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true })
  }
}
