/** Nodes that die, freeze or are too busy to answer: real processes, real signals. */
import { type Carillon, createCarillon } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { spend } from '../../support/node-process.ts'
import { type NodeProcess, type Nodes, openNodes } from '../../support/nodes.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { shares } from './shards.ts'

/** Room for a machine that has other things to do. */
const patienceMs = 4_000
/** Far longer than a silent worker is given, and than a main thread may be without a sign of life. */
const blockedMs = 3_500
const settings = { ...quickTimes, lifeMs: 600 }
/** The witness has a worker too: the built-in one. */
const ofNode = `name not like 'witness %'`

let database: TestDatabase
let sql: pg.Client
let nodes: Nodes
/** Leads shard 0 all the time, and therefore sweeps. It runs no handler of ours. */
let witness: Carillon

beforeAll(async () => {
  database = await createDatabase()
  sql = new pg.Client({ connectionString: database.url })
  await sql.connect()
  witness = await createCarillon({
    ...settings,
    databaseUrl: database.url,
    nodeName: 'witness',
    logLevel: 'fatal',
    targets: { http: false },
  })
  await witness.start()
  nodes = await openNodes(database.url)
})
afterAll(async () => {
  await nodes[Symbol.asyncDispose]()
  await witness.stop()
  await sql.end()
  await database.drop()
})

describe('a node', () => {
  let node: NodeProcess

  beforeAll(async () => {
    node = await nodes.launch('node', settings)
    await until(async () => isShared(await shares(sql), ['witness', 'node']))
  })
  afterAll(() => node.end('SIGKILL'))

  it('that froze and wakes finds its lease gone, its report refused, and lives on', async () => {
    // Shorter than a silent worker is given: when it wakes, the handler is over and has something to report.
    const ms = 0.7 * settings.workerLostMs
    const handle = await witness.enqueue(spend, { ms }, { retryPolicy: { initialDelayMs: 600_000 } })
    await began(node, handle.executionId)
    node.child.kill('SIGSTOP')
    await until(async () => (await handle.execution())?.state === 'WORKER_LOST')
    await until(async () => isShared(await shares(sql), ['witness']))
    await until(async () => (await sql.query(`select from carillon.workers where ${ofNode}`)).rowCount === 0)
    node.child.kill('SIGCONT')
    await until(async () => (await refused(handle.executionId)) === 1)
    expect(await handle.execution()).toMatchObject({ state: 'WORKER_LOST', attempt: 1 })
    // Known again: what it runs for longer than a silent worker would be given is not taken from it.
    await until(async () => isShared(await shares(sql), ['witness', 'node']))
    const next = await witness.enqueue(spend, { ms: 2.5 * settings.workerLostMs })
    expect(await next.ended({ waitMs: 15_000 })).toMatchObject({ state: 'SUCCEEDED', attempt: 1, attempts: [] })
  })

  it('whose main thread is blocked loses its shards though its keep-alive thread goes on, and gets them back', async () => {
    const handle = await witness.enqueue(spend, { ms: 500 })
    await began(node, handle.executionId)
    node.send({ blockMs: blockedMs })
    await until(async () => isShared(await shares(sql), ['witness']))
    const { rows } = await sql.query(
      `select bool_and(clock_timestamp() - seen_at < interval '800 ms') heard from carillon.workers where ${ofNode}`,
    )
    expect(rows).toEqual([{ heard: true }])
    await until(async () => isShared(await shares(sql), ['witness', 'node']))
    // Its worker was never given up.
    expect(await handle.ended({ waitMs: 15_000 })).toMatchObject({ state: 'SUCCEEDED', attempt: 1, attempts: [] })
  })

  it('blocked by a handler for longer than a silent worker is given does not run it twice: it succeeds', async () => {
    const handle = await witness.enqueue(spend, { ms: blockedMs, blocking: true })
    expect(await handle.ended({ waitMs: 20_000 })).toMatchObject({ state: 'SUCCEEDED', attempt: 1, attempts: [] })
    expect(await node.runs(handle.executionId)).toHaveLength(1)
  })

  it('blocked by a handler past its time is overruled by another, its late report refused and recorded', async () => {
    const handle = await witness.enqueue(
      spend,
      { ms: blockedMs, blocking: true },
      { timeoutSec: 1, cancelGraceSec: 0, retryPolicy: { maxAttempts: 2, delaysMs: [600_000] } },
    )
    await began(node, handle.executionId)
    await until(async () => (await handle.execution())?.state === 'TIMED_OUT')
    expect((await handle.execution())!.attempts).toMatchObject([{ to: 'TIMED_OUT', attempt: 1, actor: 'sweeper' }])
    await until(async () => (await refused(handle.executionId)) === 1)
    expect(await handle.execution()).toMatchObject({ state: 'TIMED_OUT', attempt: 1, result: null })
    // Tried again at its time.
    await sql.query('update carillon.retries set due = now() where execution_id = $1', [handle.executionId])
    await until(async () => (await node.runs(handle.executionId)).length === 2)
    expect((await node.runs(handle.executionId)).map((run) => run.attempt)).toEqual([1, 2])
  })
})

it('a node that is killed is replaced when its lease has run out, and what it ran is run elsewhere', async () => {
  const victim = await nodes.launch('victim', settings)
  const options = { cancelGraceSec: 0, retryPolicy: { initialDelayMs: 10, jitter: 0 } }
  const handle = await witness.enqueue(spend, { ms: 100_000 }, options)
  await began(victim, handle.executionId)
  const heir = await nodes.launch('heir', settings)
  await until(async () => ((await shares(sql)).heir ?? 0) > 20)
  await victim.end('SIGKILL')
  const killedAt = performance.now()
  await until(async () => isShared(await shares(sql), ['witness', 'heir']))
  expect(performance.now() - killedAt).toBeLessThan(settings.leaseMs + patienceMs)
  await began(heir, handle.executionId)
  expect(await handle.execution()).toMatchObject({
    ...{ state: 'RUNNING', attempt: 2 },
    attempts: [{ to: 'WORKER_LOST', attempt: 1, actor: 'sweeper' }],
  })
  await witness.cancel(handle.executionId)
  expect(await handle.ended({ waitMs: 15_000 })).toMatchObject({ state: 'CANCELLED' })
})

function began(node: NodeProcess, executionId: string): Promise<void> {
  return until(async () => (await node.runs(executionId)).length === 1)
}

async function refused(executionId: string): Promise<number> {
  const { rowCount } = await sql.query(
    `select from carillon.audit where action = 'execution.report_refused' and subject = $1`,
    [executionId],
  )
  return rowCount!
}

function isShared(shared: Record<string, number>, names: string[]): boolean {
  const share = 64 / names.length
  return Object.keys(shared).length === names.length && names.every((name) => Math.abs((shared[name] ?? 0) - share) < 1)
}
