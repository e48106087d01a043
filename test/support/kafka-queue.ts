/** Queues through a real Kafka, as a node of its own has them. */
import { kafkaPlace } from '../../packages/server/src/config/kafka-place.ts'
import type { Clock } from '../../packages/server/src/lib/clock.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import type { KafkaPoolQueue } from '../../packages/server/src/queue/kafka/queue.ts'
import { KafkaQueues } from '../../packages/server/src/queue/kafka/queues.ts'
import type { Database } from '../../packages/server/src/store/database.ts'
import { readInstallation } from '../../packages/server/src/store/partitions/manage.ts'
import { until } from './until.ts'

export interface TestQueue {
  queue: KafkaPoolQueue
  /** What the node has counted. */
  figures: { first: number; again: number; underWay: number; fallbacks: number; away: boolean }
  dispose(): Promise<void>
}

/** The queue of a pool at a node that messages come to. */
export async function openQueue(
  url: string,
  { database, pool, clock }: { database: Database; pool: string; clock: Clock },
): Promise<TestQueue> {
  const figures = { first: 0, again: 0, underWay: 0, fallbacks: 0, away: false }
  const queues = new KafkaQueues({
    address: kafkaPlace(url, 'queue'),
    ...{ database, clock, nodeName: 'test', logger: createLogger(process.env.LOG_LEVEL ?? 'silent') },
    installationId: async () => (await readInstallation(database)).installationId,
    figures: {
      published(first, again) {
        figures.first += first
        figures.again += again
      },
      underWay(count) {
        figures.underWay = count
      },
    },
    onFallback: () => figures.fallbacks++,
    onAway(away) {
      figures.away = away
    },
  })
  await queues.start()
  const queue = queues.of(pool, () => {})
  const dispose = async () => {
    await queue.stop()
    await queues.stop()
  }
  await until(() => {
    const selection = queue.select(0)
    if (selection !== null) queue.abandoned()
    return queue.isTold
  }, 20_000)
  return { queue, figures, dispose }
}
