import { afterAll } from 'vitest'
import { PostgresPoolQueue } from '../../../packages/server/src/queue/postgres.ts'
import { startKafka } from '../../../scripts/servers/kafka.ts'
import { openQueue } from '../../support/kafka-queue.ts'
import { describeWith } from '../../support/servers.ts'
import { describeQueue } from '../queue.ts'

await describeWith('Kafka', startKafka, (server) => {
  afterAll(() => server.stop())

  describeQueue('Kafka', (store, pool, clock) => openQueue(server.url, { database: store.database, pool, clock }))

  // While the setting is changed, some nodes read PostgreSQL and others are told by Kafka.
  let made = 0
  describeQueue('Kafka beside that of PostgreSQL', async (store, pool, clock) => {
    if (++made % 2 === 0) return { queue: new PostgresPoolQueue({ clock, onLeased() {} }), async dispose() {} }
    return openQueue(server.url, { database: store.database, pool, clock })
  })
})
