/** What happens to the queue of a pool when Kafka, a topic, a message or a node is lost: real nodes' queues on a real PostgreSQL. */
import { randomUUID } from 'node:crypto'
import { ReadyMessage } from '@carillon/contract/api'
import { Admin, Consumer, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { examineKafka } from '../../../packages/server/src/administration/doctor-kafka.ts'
import { submissionId } from '../../../packages/server/src/domain/identity.ts'
import { topicsOf } from '../../../packages/server/src/queue/kafka/topics.ts'
import { lease, leasedExecutions } from '../../../packages/server/src/store/executions/lease.ts'
import { submit } from '../../../packages/server/src/store/executions/submit.ts'
import { startKafka } from '../../../scripts/servers/kafka.ts'
import { openQueue, type TestQueue } from '../../support/kafka-queue.ts'
import { describeWith } from '../../support/servers.ts'
import { openStore, type TestStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'

const clock = { now: () => Date.now() }
const normal = 2
/** Time enough for a group to give a dead member's partitions to others, on a busy machine. */
const timeout = 60_000

await describeWith('Kafka', startKafka, (server) => {
  describe('the queue of a pool', { timeout }, () => {
    let store: TestStore
    let pool: string
    let nodes: TestQueue[]
    const brokers = { clientId: 'test', bootstrapBrokers: [`127.0.0.1:${server.port}`] }

    beforeAll(async () => {
      store = await openStore()
    })
    afterAll(async () => {
      await store[Symbol.asyncDispose]()
      await server.stop()
    })
    beforeEach(() => {
      pool = `pool-${randomUUID()}`
      nodes = []
    })
    afterEach(async () => {
      await Promise.all(nodes.map((node) => node.dispose()))
    })

    async function node(): Promise<TestQueue> {
      const opened = await openQueue(server.url, { database: store.database, pool, clock })
      nodes.push(opened)
      return opened
    }

    async function become(count: number): Promise<string[]> {
      const at = Date.now()
      const items = Array.from({ length: count }, () => ({
        ...{ executionId: submissionId(at), tenant: 'acme', name: null, pool, lane: normal, handler: 'h', runAt: at },
        ...{ payload: null, policy: null, labels: null, traceparent: null },
      }))
      const tags = items.map(() => store.tag())
      await submit(store.database, items, tags)
      for (const each of nodes) each.queue.hint(normal, tags[0]!)
      return items.map(({ executionId }) => executionId)
    }

    interface Took {
      ids: string[]
      named: number
      read: number
    }

    /** Leases at these nodes until all of them have come; answers how many came by messages and how many by reading. */
    async function take(wanted: string[], at: TestQueue[] = nodes): Promise<Took> {
      const took: Took = { ids: [], named: 0, read: 0 }
      await until(async () => {
        for (const { queue } of at) {
          const selection = queue.select(20)
          if (selection === null) continue
          const slots = Array.from({ length: 20 }, () => ({ workerId: store.workerId, prefetched: false }))
          const leased = await lease(store.database, pool, selection.reading, slots, selection.only ?? undefined)
          queue.settled(selection, leased, true)
          const ids = leased.flatMap(({ executions }) => leasedExecutions(executions)).map((each) => each.executionId)
          took.ids.push(...ids)
          if (selection.only === null) took.read += ids.length
          else took.named += ids.length
        }
        return took.ids.length >= wanted.length
      }, 30_000)
      expect(took.ids.toSorted()).toEqual(wanted.toSorted())
      return took
    }

    /** The look that a node makes when it begins is over, so that what comes is told by messages. */
    async function quiet(): Promise<void> {
      await take(await become(1))
    }

    it('is told by messages, of which each row has one', async () => {
      const [{ figures }] = [await node()]
      await quiet()
      const before = { ...figures }
      const { named } = await take(await become(300))
      expect(named).toBeGreaterThan(250)
      expect(figures).toMatchObject({ again: 0, fallbacks: before.fallbacks, away: false })
      expect(figures.first - before.first).toBeLessThanOrEqual(300)
    })

    it('has messages that others can read: a documented value, the job as the key, no payload', async () => {
      await node()
      const [executionId] = await become(1)
      const consumer = new Consumer({ ...brokers, groupId: randomUUID(), deserializers: stringDeserializers })
      const topic = topicsOf('carillon', pool)[normal]!
      const stream = await consumer.consume({ topics: [topic], mode: 'earliest' })
      for await (const message of stream) {
        const value = JSON.parse(message.value)
        expect(Check(ReadyMessage, value)).toBe(true)
        expect(value).toMatchObject({ executionId, jobId: message.key, tenant: 'acme', pool, lane: 'NORMAL' })
        break
      }
      await consumer.close(true)
      await take([executionId!])
    })

    it('is relayed by one of several nodes, and told to all', async () => {
      await Promise.all([node(), node()])
      await until(() => nodes.every(({ queue }) => queue.isTold))
      await quiet()
      const before = nodes.map(({ figures }) => figures.first)
      await take(await become(200))
      const published = nodes.map(({ figures }, i) => figures.first - before[i]!)
      expect(published.filter((count) => count > 0)).toHaveLength(1)
    })

    it('has no more under way than is leased in about a second, however long the backlog is', async () => {
      const [{ figures }] = [await node()]
      const ids = await become(3_000)
      await until(() => figures.underWay >= 500)
      expect(figures.underWay).toBeLessThanOrEqual(500)
      await take(ids)
      await until(() => figures.underWay === 0)
    })

    it('drops messages that come twice, of rows that are gone, and that are none of ours', async () => {
      await node()
      await quiet()
      const producer = new Producer({ ...brokers, serializers: stringSerializers })
      const [topic] = topicsOf('carillon', pool)
      const gone = { version: 1, executionId: randomUUID(), lane: 'CRITICAL', tag: 7 }
      const values = [JSON.stringify(gone), JSON.stringify(gone), 'no JSON', '{}', '{"version":99}', 'null']
      await producer.send({ messages: values.map((value) => ({ topic: topic!, key: 'k', value })) })
      await producer.close()
      await take(await become(30))
    })

    it('goes on by reading while Kafka is frozen, and by messages after it', async () => {
      const [{ queue }] = [await node()]
      await quiet()
      process.kill(server.pid, 'SIGSTOP')
      try {
        await take(await become(50))
        await until(async () => {
          await take(await become(5))
          return !queue.isTold
        }, 20_000)
      } finally {
        process.kill(server.pid, 'SIGCONT')
      }
      await until(async () => (await take(await become(10))).named > 0, 40_000)
    })

    it('goes on by reading while Kafka is dead, and by messages after it', async () => {
      const [{ queue, figures }] = [await node()]
      await quiet()
      await server.kill()
      await until(async () => {
        await take(await become(5))
        return !queue.isTold
      }, 20_000)
      const { read } = await take(await become(50))
      expect(read).toBe(50)
      expect(figures).toMatchObject({ away: true })
      expect(figures.fallbacks).toBeGreaterThan(0)
      await server.restart()
      await until(async () => (await take(await become(10))).named > 0, 40_000)
      expect(figures.away).toBe(false)
    })

    it('loses nothing when its topics are deleted, and has them again', async () => {
      await node()
      await quiet()
      const admin = new Admin(brokers)
      const ids = await become(100)
      await admin.deleteTopics({ topics: [...topicsOf('carillon', pool)] })
      await take([...ids, ...(await become(100))])
      await until(async () => (await take(await become(10))).named > 0, 40_000)
      await admin.close()
    })

    it('uses partitions that are added', async () => {
      await node()
      await quiet()
      const admin = new Admin(brokers)
      const topic = topicsOf('carillon', pool)[normal]!
      await admin.createPartitions({ topics: [{ name: topic, count: 12 }], validateOnly: false })
      await admin.close()
      await until(async () => {
        await take(await become(40))
        return (await partitionsInUse(topic)) > 8
      }, 40_000)
    })

    it('is examined by the doctor', async () => {
      expect(await examineKafka(server.url, 'queue')).toMatchObject([{ status: 'OK', message: '1 broker answers' }])
      const [away] = await examineKafka('kafka://127.0.0.1:1', 'queue')
      expect(away).toMatchObject({ status: 'WARN', check: 'kafka' })
    })

    it('leaves the group when no worker has waited for a while, and joins again', async () => {
      const first = await node()
      await quiet()
      const second = await node()
      await until(() => first.queue.isTold && second.queue.isTold)
      // Only the second one is asked from now on; all partitions come to it.
      const { read } = await untilNamed(second)
      expect(read).toBeGreaterThanOrEqual(0)
      expect(first.queue.isTold).toBe(false)
      await until(() => {
        first.queue.select(1)
        return first.queue.isTold
      }, 20_000)
    })

    async function untilNamed(at: TestQueue): Promise<Took> {
      let took: Took | null = null
      await until(async () => {
        took = await take(await become(20), [at])
        return took.named === 20
      }, 40_000)
      return took!
    }

    /** How many partitions of a topic have messages. */
    async function partitionsInUse(topic: string): Promise<number> {
      const consumer = new Consumer({ ...brokers, groupId: randomUUID() })
      try {
        const offsets = await consumer.listOffsets({ topics: [topic] })
        return offsets.get(topic)!.filter((offset) => offset > 0n).length
      } finally {
        await consumer.close()
      }
    }
  })
})
