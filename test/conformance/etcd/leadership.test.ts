/** Leadership by etcd: what every version must do, and what is its own: etcd away, back, and gone back in time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Etcd3 } from 'etcd3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { etcdPlace } from '../../../packages/server/src/config/etcd-place.ts'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { KeepAliveThread } from '../../../packages/server/src/keep-alive/keep-alive.ts'
import { EtcdLeadership } from '../../../packages/server/src/leadership/etcd.ts'
import type { Leadership, LedShard } from '../../../packages/server/src/leadership/port.ts'
import { PostgresLeadership } from '../../../packages/server/src/leadership/postgres.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import type { RunningServer } from '../../../scripts/servers/process.ts'
import { describeWith } from '../../support/servers.ts'
import { openStore, type TestStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { describeLeadership, type LeadershipSubject } from '../leadership.ts'

const logger = createLogger('silent')
const renewEveryMs = 300
const leaseMs = 3_000
const shardCount = 8

async function makeNode(
  { database, url }: Pick<TestStore, 'database' | 'url'>,
  {
    leadershipUrl,
    leaseMs,
    everyMs = renewEveryMs,
  }: { leadershipUrl: string | null; leaseMs: number; everyMs?: number },
): Promise<LeadershipSubject> {
  const times = { renewEveryMs, workersEveryMs: 5_000, answerWithinMs: leaseMs }
  const keepAlive = new KeepAliveThread({ databaseUrl: url, ...times }, logger)
  await keepAlive.start()
  const lease = { nodeId: newId(Date.now()), nodeName: 'node', leaseMs, lifeMs: 10_000 }
  const options = { database, keepAlive, lease, everyMs, logger }
  const leadership: Leadership =
    leadershipUrl === null
      ? new PostgresLeadership(options)
      : new EtcdLeadership({ ...options, place: etcdPlace(leadershipUrl) })
  return {
    leadership,
    die: () => keepAlive.stop(),
    async dispose() {
      await leadership.stop()
      await keepAlive.stop()
    },
  }
}

await describeWith('etcd', startEtcd, (etcd) => {
  afterAll(() => etcd.stop())
  describeLeadership('etcd', (store, leaseMs) => makeNode(store, { leadershipUrl: etcd.url, leaseMs }))
})

await describeWith('etcd', startEtcd, (etcd) => {
  describe('leadership by etcd', () => {
    let store: TestStore
    let nodes: LeadershipSubject[]

    beforeAll(async () => {
      store = await openStore({ shardCount })
    })
    afterAll(async () => {
      await store[Symbol.asyncDispose]()
      await etcd.stop()
    })
    beforeEach(async () => {
      await store.database.query(null, 'delete from carillon.nodes')
      nodes = []
    })
    afterEach(async () => {
      for (const node of nodes) await node.dispose()
    })

    async function start(parameters: string | null = ''): Promise<Leadership> {
      const leadershipUrl = parameters === null ? null : etcd.url + parameters
      const node = await makeNode(store, { leadershipUrl, leaseMs })
      node.leadership.onFreed(() => {
        for (const other of nodes) other.leadership.wake()
      })
      nodes.push(node)
      await node.leadership.start()
      return node.leadership
    }

    async function held(shards: readonly LedShard[]): Promise<number> {
      const [row] = await store.database.query<{ count: number }>(
        null,
        'select cardinality(carillon.hold_shards($1, $2)) count',
        [shards.map(({ shard }) => shard), shards.map(({ epoch }) => epoch)],
      )
      return row!.count
    }

    const leads = (leadership: Leadership, count: number) =>
      until(async () => leadership.shards().length === count && (await held(leadership.shards())) === count, 20_000)

    it('when etcd is gone its leaders step down before the lease has ended there, and lead again when it is back', async () => {
      const node = await start()
      await leads(node, shardCount)
      const changes: number[] = []
      node.onChange((shards) => changes.push(shards.length))
      const goneAt = performance.now()
      await etcd.kill()
      await until(() => node.shards().length === 0, 2 * leaseMs)
      expect(performance.now() - goneAt).toBeLessThan(leaseMs + 500)
      await until(() => changes.join() === '0')
      await etcd.restart()
      await leads(node, shardCount)
    })

    it('a node that reaches etcd but not PostgreSQL gives up what it was elected to', async () => {
      const database = new Database({
        ...{ url: store.url, maxConnections: 2, statementTimeoutMs: 2_000, applicationName: 'cut off' },
      })
      const cutOff = await makeNode({ database, url: store.url }, { leadershipUrl: etcd.url, leaseMs })
      await cutOff.leadership.start()
      await leads(cutOff.leadership, shardCount)
      const node = await start()
      await leads(node, shardCount / 2)
      await database.end()
      await cutOff.die()
      await leads(node, shardCount)
      await expect(cutOff.leadership.stop()).rejects.toThrow()
    })

    it('when a leader has given its shards up, the others hear of it from etcd and need not wait for their next look', async () => {
      const seldom = { leadershipUrl: etcd.url, leaseMs: 600_000, everyMs: 300_000 }
      const first = await makeNode(store, seldom)
      await first.leadership.start()
      await leads(first.leadership, shardCount)
      const second = await makeNode(store, seldom)
      nodes.push(second)
      await second.leadership.start()
      // After these no look of its start is under way.
      for (let look = 0; look < 2; look++) await (second.leadership as EtcdLeadership).runOnce()
      expect(second.leadership.shards()).toEqual([])
      await first.dispose()
      await leads(second.leadership, shardCount)
    })

    it('frozen, it is as gone', async () => {
      const node = await start()
      await leads(node, shardCount)
      process.kill(etcd.pid, 'SIGSTOP')
      try {
        await until(() => node.shards().length === 0, 2 * leaseMs)
      } finally {
        process.kill(etcd.pid, 'SIGCONT')
      }
      await leads(node, shardCount)
    })

    it('with the fallback PostgreSQL elects meanwhile, evenly, and etcd when it is back', async () => {
      const [first, second] = [await start('?fallback=postgres'), await start('?fallback=postgres')]
      await leads(first, shardCount / 2)
      await leads(second, shardCount / 2)
      await etcd.kill()
      await until(() => first.shards().length === 0 || second.shards().length === 0, 2 * leaseMs)
      await leads(first, shardCount / 2)
      await leads(second, shardCount / 2)
      await etcd.restart()
      const elected = async () => {
        const [row] = await store.database.query<{ count: number }>(
          null,
          'select count(*)::int count from carillon.shards where elector is not null and node_id is not null',
        )
        return row!.count
      }
      await until(async () => (await elected()) === shardCount, 20_000)
      await leads(first, shardCount / 2)
      await leads(second, shardCount / 2)
    })

    it('nodes with and without etcd share the shards while one after the other is restarted', async () => {
      const first = await start(null)
      await leads(first, shardCount)
      const second = await start()
      await leads(second, shardCount / 2)
      await leads(first, shardCount / 2)
      await first.stop()
      await leads(second, shardCount)
      const third = await start(null)
      expect(third.shards()).toEqual([])
      await second.stop()
      await leads(third, shardCount)
    })

    it('what etcd has forgotten, or gives to another by mistake, is led by one node all the same', async () => {
      const [first, second] = [await start(), await start()]
      await leads(first, shardCount / 2)
      await leads(second, shardCount / 2)
      const client = new Etcd3({ hosts: `http://127.0.0.1:${etcd.port}` })
      await client.delete().all()
      client.close()
      await until(() => first.shards().length + second.shards().length === shardCount, 20_000)
      await leads(first, shardCount / 2)
      await leads(second, shardCount / 2)
      const all = [...first.shards(), ...second.shards()].map(({ shard }) => shard)
      expect(new Set(all).size).toBe(shardCount)
    })

    it('from an old snapshot it elects leaders again, in epochs that nobody had', async () => {
      const [first, second] = [await start(), await start()]
      await leads(first, shardCount / 2)
      await leads(second, shardCount / 2)
      await etcd.kill()
      await cp(`${etcd.folder}/data`, `${etcd.folder}/old`, { recursive: true })
      await etcd.restart()
      await leads(first, shardCount / 2)
      await leads(second, shardCount / 2)
      await second.stop()
      await leads(first, shardCount)
      const before = first.shards()
      await etcd.kill()
      await rm(`${etcd.folder}/data`, { recursive: true })
      await cp(`${etcd.folder}/old`, `${etcd.folder}/data`, { recursive: true })
      await etcd.restart()
      await until(() => first.shards().some(({ epoch }, i) => epoch > (before[i]?.epoch ?? 0)), 20_000)
      await leads(first, shardCount)
      for (const { shard, epoch } of first.shards()) {
        expect(epoch).toBeGreaterThanOrEqual(before.find((led) => led.shard === shard)!.epoch)
      }
    })

    it('a node that is killed is replaced when its lease has ended, one that is frozen leads nothing when it goes on', async () => {
      const node = await start()
      await leads(node, shardCount)
      const killed = await otherProcess(store, etcd)
      await leads(node, shardCount / 2)
      killed.kill('SIGKILL')
      await leads(node, shardCount)
      const frozen = await otherProcess(store, etcd)
      await leads(node, shardCount / 2)
      frozen.kill('SIGSTOP')
      await leads(node, shardCount)
      const before = node.shards()
      frozen.kill('SIGCONT')
      await leads(node, shardCount / 2)
      expect(await held(before.filter(({ shard }) => node.shards().some((led) => led.shard === shard)))).toBe(
        shardCount / 2,
      )
      frozen.kill('SIGKILL')
      await once(frozen, 'exit')
    })
  })
})

/** A node in a process of its own. It has started when it says so. */
async function otherProcess({ url }: TestStore, etcd: RunningServer) {
  const program = fileURLToPath(new URL('./leader-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program, url, etcd.url, String(leaseMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}
