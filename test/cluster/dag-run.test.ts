/** A large run on two nodes, of which the one that advances it is killed again and again. */
import { setTimeout as after } from 'node:timers/promises'
import type { DagStep } from '@carillon/contract'
import { silentLogger } from '@carillon/contract/process'
import { createClient } from '@carillon/sdk'
import pg from 'pg'
import { expect, it } from 'vitest'
import { poll } from '../../packages/embedded/src/waiting.ts'
import { createDatabase } from '../support/postgres.ts'
import { end, type NodeProcess, Processes } from './processes.ts'

const layers = 100
const width = 10
const killEveryMs = 5_000
/** Long enough for some kills, on any machine. */
const stepMs = 100
const engine = { leaseMs: 1_500, renewEveryMs: 300, statementTimeoutMs: 1_300, heartbeatEveryMs: 500, pollMs: 500 }

/** Each step depends on all of the layer before. */
const steps = Array.from({ length: layers * width }, (_, place): DagStep => {
  const layer = Math.floor(place / width)
  const dependsOn = Array.from({ length: layer === 0 ? 0 : width }, (_, i) => `s${(layer - 1) * width + i}`)
  return { name: `s${place}`, dependsOn, target: { handler: 'spend' }, payload: { ms: stepMs } }
})

it('a run of 1,000 steps ends, each step once to success, while its leader is killed every 5 s', async () => {
  const database = await createDatabase()
  const sql = new pg.Client({ connectionString: database.url })
  await sql.connect()
  try {
    await using processes = await Processes.open()
    const nodes: NodeProcess[] = []
    for (const name of ['node-1', 'node-2']) {
      nodes.push(await processes.node(database.url, { ...engine, nodeName: name }))
    }
    const urls = nodes.map(({ url }) => url)
    await processes.worker('w', { urls, slots: 20 })
    await using client = createClient({ urls, patienceMs: 30_000, logger: silentLogger })
    const { runId } = await client.dagRuns.start({ steps })

    const ended = async () => {
      const { rows } = await sql.query('select state from carillon.dag_runs where execution_id = $1', [runId])
      return rows[0].state === null ? undefined : true
    }
    let kills = 0
    while (!(await poll(ended, { everyMs: 50, forMs: killEveryMs }))) {
      const leader = await leaderOf(sql, runId)
      const killed = nodes.findIndex(({ nodeId }) => nodeId === leader)
      if (killed === -1) {
        await after(100) // between two leaders
        continue
      }
      await end(nodes[killed]!.child)
      kills++
      const port = Number(new URL(nodes[killed]!.url).port)
      nodes[killed] = await processes.node(database.url, { ...engine, nodeName: `node-${killed + 1}` }, port)
    }
    expect(kills).toBeGreaterThan(1)

    const run = await client.dagRuns.get(runId)
    expect(run).toMatchObject({ state: 'SUCCEEDED', doneCount: steps.length, failedCount: 0 })
    const { rows } = await sql.query('select execution_id id, fence::float8 from carillon.executions order by 1')
    expect(rows).toHaveLength(steps.length)
    const successes = (await processes.runs()).filter(({ what }) => what === 'ended')
    const counted = successes.map(({ executionId: id, fence }) => ({ id, fence }))
    expect(counted.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(rows)
    const { rows: left } = await sql.query('select from carillon.blocked union all select from carillon.leases')
    expect(left).toEqual([])
  } finally {
    await sql.end()
    await database.drop()
  }
}, 300_000)

async function leaderOf(sql: pg.Client, runId: string): Promise<string | undefined> {
  const { rows } = await sql.query<{ node_id: string }>(
    `select s.node_id from carillon.installation n
     join carillon.shards s on s.shard = carillon.shard_of($1, n.shard_count)`,
    [runId],
  )
  return rows[0]?.node_id
}
