/** Topics that Carillon needs: those that are missing are created. */
import type { Admin } from '@platformatic/kafka'
import type { Logger } from '../observability/logger.ts'
import { type loadKafka, within } from './client.ts'

type Library = Awaited<ReturnType<typeof loadKafka>>

const answerMs = 5_000
const leaderTries = 20
const leaderEveryMs = 100

export interface WantedTopic {
  name: string
  /** Null: as many as the cluster gives topics by default. */
  partitions: number | null
  /** By the names that Kafka gives its settings. */
  config?: Readonly<Record<string, string>>
}

export interface TopicWishes {
  topics: readonly WantedTopic[]
  /** Null: as many as the cluster gives topics by default. */
  replicas: number | null
  logger: Logger
}

/** Answers how many partitions each has. */
export async function ensureTopics(library: Library, admin: Admin, wishes: TopicWishes): Promise<Map<string, number>> {
  const names = wishes.topics.map(({ name }) => name)
  const known = await partitionsOf(library, admin, names)
  if (known !== null) return known
  await createTopics(library, admin, wishes)
  for (let tries = 0; tries < leaderTries; tries++) {
    const created = await partitionsOf(library, admin, names)
    if (created !== null) return created
    await new Promise((resolve) => setTimeout(resolve, leaderEveryMs))
  }
  throw new Error(`the topics ${names.join(', ')} were created, and have no leaders yet`)
}

export function isKafkaError({ findErrorBy }: Library, error: unknown, apiId: string): boolean {
  return error instanceof Error && findErrorBy(error, 'apiId', apiId) !== null
}

/** Null: some of them are missing, or have no leader yet. The package sorts the array that it is given. */
async function partitionsOf(library: Library, admin: Admin, names: string[]): Promise<Map<string, number> | null> {
  try {
    const asked = admin.metadata({ topics: [...names], forceUpdate: true, autocreateTopics: false })
    const { topics } = await within(asked, answerMs, 'reading topics')
    const known = new Map([...topics].map(([name, { partitionsCount }]) => [name, partitionsCount]))
    return names.every((name) => (known.get(name) ?? 0) > 0) ? known : null
  } catch (error) {
    // A topic that is unknown, by the package's way to say it.
    if (error instanceof library.UserError) return null
    if (isKafkaError(library, error, 'LEADER_NOT_AVAILABLE')) return null
    throw error
  }
}

async function createTopics(library: Library, admin: Admin, { topics, replicas, logger }: TopicWishes): Promise<void> {
  for (const { name, partitions, config = {} } of topics) {
    const configs = Object.entries(config).map(([setting, value]) => ({ name: setting, value }))
    const wanted = { topics: [name], partitions: partitions ?? -1, replicas: replicas ?? -1, configs }
    try {
      await within(admin.createTopics(wanted), answerMs, 'creating a topic')
      logger.info({ topic: name }, 'created a topic in Kafka')
    } catch (error) {
      if (!isKafkaError(library, error, 'TOPIC_ALREADY_EXISTS')) throw error
    }
  }
}
