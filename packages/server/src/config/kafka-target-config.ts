/** Clusters and topics that Kafka targets may publish to. A job names a cluster; where it is and who we are there is known here only. */
import { CarillonError, checkOptions } from '@carillon/contract'
import { defaultPrefix, type KafkaPlace, kafkaPlace } from './kafka-place.ts'
import { NamePatterns, partsOf } from './name-patterns.ts'
import { isWellFormed } from './secret-patterns.ts'
import { type SecretRefs, SecretUnavailable } from './secret-refs.ts'

export interface KafkaClusterSettings {
  /** `kafka://host:9092`, `kafkas://user:password@host:9092`, or a reference to it: `env:NAME`, `file:/path`. */
  url: string
  /** Topics that may be published to: `orders`, `orders.*`. */
  topics: string[]
}

export interface KafkaClusterConfig {
  /** As it was given: it may hold a password. */
  readonly url: string
  readonly topics: NamePatterns
}

const clusterName = /^[A-Za-z0-9_-]{1,100}$/
const topicStart = /^[A-Za-z0-9._-]{0,249}$/

export function kafkaTargetConfig(settings: Record<string, KafkaClusterSettings>): Map<string, KafkaClusterConfig> {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    throw invalid('', 'must be an object of names and clusters')
  }
  return new Map(Object.entries(settings).map(([name, cluster]) => [name, clusterConfig(name, cluster)]))
}

function clusterConfig(name: string, settings: KafkaClusterSettings): KafkaClusterConfig {
  if (!clusterName.test(name)) throw invalid(`/${name}`, 'is not a name', 'Use letters, digits, hyphen and underscore')
  const pointer = `/targets/kafka/${name}`
  checkOptions(settings, ['url', 'topics'], { pointer, what: `targets.kafka.${name}`, code: 'CONFIG_INVALID' })
  const { url, topics } = settings
  if (typeof url !== 'string') throw invalid(`/${name}/url`, 'must be a URL or a reference to one', urlHint)
  if (!isWellFormed(url)) clusterPlace(name, url)
  if (!Array.isArray(topics) || topics.length === 0) {
    throw invalid(`/${name}/topics`, 'must be a list that is not empty', topicHint)
  }
  for (const topic of topics) {
    if (typeof topic !== 'string' || !isTopicPattern(topic)) {
      throw invalid(`/${name}/topics`, `has ${JSON.stringify(topic)}`, topicHint)
    }
  }
  return Object.freeze({ url, topics: new NamePatterns(topics) })
}

const urlHint = 'kafka://host:9092, env:NAME or file:/path'
const topicHint = 'Give names of topics, or how they begin: orders.*'

function isTopicPattern(text: string): boolean {
  const { start, whole } = partsOf(text)
  return topicStart.test(start) && !(whole && start === '') && !start.startsWith('__')
}

/** Where the cluster is. Throws CONFIG_INVALID, without the URL. */
export async function readCluster(name: string, url: string, secrets: SecretRefs): Promise<KafkaPlace> {
  if (!isWellFormed(url)) return clusterPlace(name, url)
  try {
    return clusterPlace(name, await secrets.resolve(url, { trusted: true }))
  } catch (error) {
    throw error instanceof SecretUnavailable
      ? invalid(`/${name}/url`, `refers to what is missing: ${error.message}`)
      : error
  }
}

function clusterPlace(name: string, url: string): KafkaPlace {
  const place = kafkaPlace(url, `targets.kafka.${name}.url`)
  if (place.prefix !== defaultPrefix || place.replicas !== null) {
    throw invalid(`/${name}/url`, 'has a path or `replicas`, which targets have no use for', 'Leave them out')
  }
  return place
}

function invalid(path: string, message: string, hint?: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', {
    pointer: `/targets/kafka${path}`,
    message: `targets.kafka${path.replaceAll('/', '.')} ${message}`,
    hint,
  })
}
