/** The nodes of an installation, as any of them tells. */
import pg from 'pg'
import { expect, it } from 'vitest'
import { listNodes } from '../../../packages/server/src/store/nodes/facts.ts'
import { testCarillon } from '../../support/carillon.ts'
import { httpNode } from '../../support/http-node.ts'
import { openStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { carillon } from '../cli/cli.ts'

const uuid = /^[0-9a-f-]{36}$/

it('two nodes are listed by both, one that stops is gone at once, one that is silent after a minute', async () => {
  await using first = await httpNode({ engine: { nodeName: 'first', shardCount: 8 } })
  const alone = (await first.ask('GET /v1/nodes')).body
  expect(alone.shards).toEqual({ count: 8, leaderless: 0 })
  expect(alone.nodes).toEqual([
    {
      ...{
        nodeId: expect.stringMatching(uuid),
        name: 'first',
        version: '0.1.0',
        shards: 8,
        workers: expect.any(Number),
      },
      ...{ startedAt: expect.any(String), seenAt: expect.any(String), clockOffsetMs: expect.any(Number), away: [] },
      ...{ cpu: expect.any(Number), memoryBytes: expect.any(Number), eventLoop: expect.any(Number) },
    },
  ])
  expect(alone.nodes[0].memoryBytes).toBeGreaterThan(2 ** 20)
  const second = await first.another({ engine: { nodeName: 'second' } })
  await until(async () => {
    const { nodes } = (await first.ask('GET /v1/nodes')).body
    return nodes.length === 2 && nodes.every(({ shards }: { shards: number }) => shards === 4)
  })
  const named = async () =>
    (await first.ask('GET /v1/nodes')).body.nodes.map(({ name }: { name: string }) => name) as string[]
  expect(await named()).toEqual(['first', 'second'])
  await second.stop()
  expect(await named()).toEqual(['first'])
  const client = new pg.Client(first.databaseUrl)
  await client.connect()
  await client.query(
    `insert into carillon.node_facts select (f).* from (
       select jsonb_populate_record(f, jsonb_build_object('node_id', gen_random_uuid(), 'name', 'killed',
         'seen_at', now() - interval '61 seconds')) f from carillon.node_facts f) f`,
  )
  expect(await named()).toEqual(['first'])
  await client.query(`update carillon.node_facts set seen_at = now() - interval '55 seconds' where name = 'killed'`)
  expect(await named()).toEqual(['first', 'killed'])
  await client.query(`update carillon.shards set node_id = null where shard = 0`)
  const shown = await carillon(['nodes', '--url', first.url])
  expect(shown.stdout).toMatch(/NAME +VERSION +SHARDS/)
  expect(shown.stdout).toMatch(/killed +0\.1\.0 +0/)
  await client.end()
})

it('the command says how it stands, and that a shard without a leader is no good answer', async () => {
  await using node = await httpNode({ engine: { nodeName: 'only', shardCount: 2 } })
  const fine = await carillon(['nodes', '--json', '--url', node.url])
  expect(fine.exitCode).toBe(0)
  expect(fine.json()).toMatchObject([{ nodes: [{ name: 'only', shards: 2 }], shards: { count: 2, leaderless: 0 } }])
  expect((await carillon(['nodes', '--url', node.url])).stderr).toContain('2 shards, 0 without a leader.')
})

it('in library mode', async () => {
  await using at = await testCarillon()
  expect((await at.carillon.installation.nodes()).nodes).toHaveLength(1)
})

it('a shard whose leader’s lease has run out has none', async () => {
  await using store = await openStore({ shardCount: 4 })
  expect((await listNodes(store.database)).shards).toEqual({ count: 4, leaderless: 0 })
  await store.database.query(null, `update carillon.nodes set lease_until = now() - interval '1 second'`)
  expect((await listNodes(store.database)).shards).toEqual({ count: 4, leaderless: 4 })
})
