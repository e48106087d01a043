/** A Kafka with users and rights, and what an administrator and a consumer see of it. */
import { randomUUID } from 'node:crypto'
import { Admin, Consumer, stringDeserializers } from '@platformatic/kafka'
import { startKafka } from '../../../scripts/servers/kafka.ts'
import type { RunningServer } from '../../../scripts/servers/process.ts'
import { until } from '../../support/until.ts'

const admin = { mechanism: 'PLAIN' as const, username: 'admin', password: 'admin-password' }
export const writer = { username: 'writer', password: 'writer password/1' }

/** Topics are created when they are first named, as brokers do it unless told otherwise. */
export function startSecuredKafka(): Promise<RunningServer> {
  const users = `user_admin="${admin.password}" user_writer="${writer.password}"`
  return startKafka({
    properties: {
      'listener.security.protocol.map': 'PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT',
      'inter.broker.listener.name': 'PLAINTEXT',
      'sasl.enabled.mechanisms': 'PLAIN',
      'sasl.mechanism.inter.broker.protocol': 'PLAIN',
      'listener.name.plaintext.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="${admin.password}" ${users};`,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:admin;User:ANONYMOUS',
      'allow.everyone.if.no.acl.found': 'true',
      'auto.create.topics.enable': 'true',
    },
  })
}

export function clusterUrl({ port }: RunningServer, user: { username: string; password: string } = writer): string {
  const { username, password } = user
  return `kafka://${username}:${encodeURIComponent(password)}@127.0.0.1:${port}?mechanism=PLAIN`
}

export interface Administrator extends AsyncDisposable {
  create(topic: string, options?: { partitions?: number; maxBytes?: number }): Promise<void>
  /** The writer may not write to it any more. */
  deny(topic: string): Promise<void>
  topics(): Promise<string[]>
}

export function administrator({ port }: RunningServer): Administrator {
  const client = new Admin({ clientId: 'test-admin', bootstrapBrokers: [`127.0.0.1:${port}`], sasl: admin, retries: 5 })
  return {
    async create(topic, { partitions = 1, maxBytes } = {}) {
      const configs = maxBytes === undefined ? [] : [{ name: 'max.message.bytes', value: `${maxBytes}` }]
      // The broker answers before it can do everything.
      await until(() =>
        client.createTopics({ topics: [topic], partitions, replicas: 1, configs }).then(
          () => true,
          () => false,
        ),
      )
    },
    async deny(resourceName) {
      const [topic, literal, write, denied] = [2, 3, 4, 2] as const
      await client.createAcls({
        creations: [
          {
            ...{ resourceType: topic, resourceName, resourcePatternType: literal, principal: 'User:writer', host: '*' },
            ...{ operation: write, permissionType: denied },
          },
        ],
      })
    },
    topics: () => client.listTopics(),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

export interface ReadMessage {
  partition: number
  offset: number
  key: string
  value: string
  headers: Record<string, string>
}

/** The first messages of a topic, as many as are asked for, in the order in which they came. */
export async function readMessages({ port }: RunningServer, topic: string, count: number): Promise<ReadMessage[]> {
  const consumer = new Consumer({
    ...{ clientId: 'test-reader', groupId: randomUUID(), bootstrapBrokers: [`127.0.0.1:${port}`], sasl: admin },
    deserializers: stringDeserializers,
  })
  const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false, maxWaitTime: 100 })
  const read: ReadMessage[] = []
  try {
    for await (const { partition, offset, key, value, headers } of stream) {
      read.push({ partition, offset: Number(offset), key, value, headers: Object.fromEntries(headers) })
      if (read.length === count) break
    }
    return read
  } finally {
    await consumer.close(true)
  }
}
