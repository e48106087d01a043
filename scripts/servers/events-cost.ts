/**
 * Measures what a subscription to all events costs PostgreSQL, without and with it, in turns:
 * `npx node scripts/servers/events-cost.ts [rounds] [batches]`. Each turn submits, leases and reports batches of 500 executions; with the
 * subscription, its events are then published to a Kafka of its own, and removed.
 */

import { familyMs, timesOf } from '../../bench/measure/cpu.ts'
import { kafkaPlace } from '../../packages/server/src/config/kafka-place.ts'
import { Deliverer } from '../../packages/server/src/events/deliverer.ts'
import { EventTopics } from '../../packages/server/src/events/kafka-subscribers.ts'
import { eventSource } from '../../packages/server/src/events/subscription-source.ts'
import type { Leadership } from '../../packages/server/src/leadership/port.ts'
import { monotonicMs } from '../../packages/server/src/lib/clock.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { readSubscriptions, unsubscribe } from '../../packages/server/src/store/events/subscriptions.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { Isolation } from '../../packages/server/src/store/quarantine/isolation.ts'
import { EventPruner } from '../../packages/server/src/upkeep/event-pruner.ts'
import { Partitioner } from '../../packages/server/src/upkeep/partitioner.ts'
import { createDatabase, startPostgres18 } from '../../test/support/postgres.ts'
import { endOf, TestStore } from '../../test/support/store.ts'
import { until } from '../../test/support/until.ts'
import { startKafka } from './kafka.ts'

const rounds = Number(process.argv[2] ?? 5)
const batches = Number(process.argv[3] ?? 40)
const batch = 500
const executions = batches * batch
const name = 'cost'
const logger = createLogger('silent')

const postgres = await startPostgres18()
await using kafka = await startKafka()
const home = await createDatabase({ server: postgres.url })
const first = new Database({ url: home.url, maxConnections: 2, statementTimeoutMs: 20_000, applicationName: 'set-up' })
await migrate(first, { shardCount: 4, partitionHours: 24, retentionDays: 30 })
await new Partitioner({ database: first, clock: { now: monotonicMs }, logger }).createMissing()
await first.end()
const store = new TestStore(home, 6)
const { database } = store
const [{ pid }] = (await database.query<{ pid: number }>(null, 'select pg_backend_pid() pid')) as [{ pid: number }]
const postmaster = (await timesOf(pid))!.parent

const leadership: Leadership = {
  ...{ start: async () => {}, stop: async () => {}, alone: () => true, wake: () => {} },
  ...{ shards: () => (leads ? [{ shard: 0, epoch: 1 }] : []), onChange: () => () => {}, onFreed: () => () => {} },
}
let leads = false

/** CPU of the server for each execution, in µs. */
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = await familyMs(postmaster)
  await work()
  return (((await familyMs(postmaster)) - before) * 1_000) / executions
}

async function lives() {
  const held: Awaited<ReturnType<TestStore['lease']>>[] = []
  const times = async (work: () => Promise<unknown>) => {
    for (let n = 0; n < batches; n++) await work()
  }
  return {
    submit: await cost(() => times(() => store.submit(batch))),
    lease: await cost(() => times(async () => held.push(await store.lease(batch)))),
    report: await cost(() => times(() => store.settle(held.pop()!.map((each) => endOf(each))))),
  }
}

async function withSubscription() {
  leads = false
  await using deliverer = subscription()
  await deliverer.start()
  const figures = await lives()
  const node = process.cpuUsage()
  const began = performance.now()
  const publish = await cost(async () => {
    leads = true
    await deliverer.runOnce()
    await until(async () => (await readSubscriptions(database)).every(({ lag }) => lag === 0), 120_000)
  })
  const seconds = (performance.now() - began) / 1_000
  const used = process.cpuUsage(node)
  const { bytes } = (
    await database.query<{ bytes: number }>(null, `select pg_total_relation_size('carillon.events') bytes`)
  )[0]!
  const prune = await cost(() => new EventPruner({ database, logger }).runOnce())
  await unsubscribe(database, name, 'cost')
  const perSec = Math.round((3 * executions) / seconds)
  return { ...figures, publish, prune, node: (used.user + used.system) / executions, perSec, bytes }
}

function subscription() {
  const address = kafkaPlace(`${kafka.url}/cost`, 'publishEvents')
  const deliverer = new Deliverer({
    ...{ name, types: null, database, leadership, nodeName: 'cost', logger, onAway: () => {} },
    source: eventSource(database, new Isolation({ database, logger })),
    subscriber: new EventTopics({ address, clientId: 'cost', logger, onPublished: () => {} }),
  })
  return Object.assign(deliverer, { [Symbol.asyncDispose]: () => deliverer.stop() })
}

const without: Record<string, number>[] = []
const withOne: Record<string, number>[] = []
await lives()
for (let round = 0; round < rounds; round++) {
  without.push(await lives())
  withOne.push(await withSubscription())
  await store.clear()
}
print('without', without)
print('with', withOne)
await database.end()
await home.drop()
await postgres.stop()

/** Least and median of each figure. */
function print(title: string, figures: Record<string, number>[]): void {
  const line = Object.keys(figures[0]!).map((key) => {
    const values = figures.map((each) => each[key]!).sort((a, b) => a - b)
    return `${key} ${values[0]!.toFixed(1)} / ${values[Math.floor(values.length / 2)]!.toFixed(1)}`
  })
  process.stdout.write(`${title.padEnd(8)} ${line.join(', ')}\n`)
}
