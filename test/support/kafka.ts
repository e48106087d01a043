/** Reading topics of a Kafka as a consumer of another system would. */
import { randomUUID } from 'node:crypto'
import type { RunningServer } from '../../scripts/servers/process.ts'

export interface TopicRecord {
  topic: string
  partition: number
  key: string
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: the value of a message, looked into by a test
  value: any
}

function connection(server: RunningServer) {
  return { clientId: 'test', bootstrapBrokers: [`127.0.0.1:${server.port}`], timeout: 5_000, requestTimeout: 5_000 }
}

/** Everything in the topics, from their beginnings, in the order of each partition, until it is enough. */
export async function readTopics(
  server: RunningServer,
  topics: string[],
  enough: (records: TopicRecord[]) => boolean,
  forMs = 30_000,
): Promise<TopicRecord[]> {
  const { Consumer, stringDeserializers } = await import('@platformatic/kafka')
  const consumer = new Consumer<string, string, string, string>({
    ...connection(server),
    ...{ groupId: randomUUID(), deserializers: stringDeserializers, autocommit: false, maxWaitTime: 100 },
  })
  const records: TopicRecord[] = []
  const stream = await consumer.consume({ topics, mode: 'earliest' })
  const timer = setTimeout(() => stream.destroy(new Error(`not enough: ${records.length} records`)), forMs)
  try {
    for await (const { topic, partition, key, value, headers } of stream) {
      records.push({ topic, partition, key, headers: Object.fromEntries(headers), value: JSON.parse(value) })
      if (enough(records)) break
    }
  } finally {
    clearTimeout(timer)
    await consumer.close(true)
  }
  return records
}

export async function deleteTopic(server: RunningServer, topic: string): Promise<void> {
  const { Admin } = await import('@platformatic/kafka')
  const admin = new Admin(connection(server))
  await admin.deleteTopics({ topics: [topic] })
  await admin.close()
}
