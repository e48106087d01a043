/** What an error of Kafka means: a failure that trying again cannot help, or one that the retry policy decides on. */
import { PermanentError } from '@carillon/sdk'
import { TargetFailed } from '../target-failed.ts'
import { UnknownTopic } from './producers.ts'

/** By Kafka's own names. Everything else is retried: a broker that is away, a leader that is being elected, replicas that lag. */
const permanent: Record<string, (topic: string, cluster: string) => string> = {
  MESSAGE_TOO_LARGE: (topic) => `the message is larger than ${topic} takes`,
  RECORD_LIST_TOO_LARGE: (topic) => `the message is larger than ${topic} takes`,
  TOPIC_AUTHORIZATION_FAILED: (topic, cluster) => `${cluster} does not let this node’s account write to ${topic}`,
  CLUSTER_AUTHORIZATION_FAILED: (_, cluster) => `${cluster} does not let this node’s account write idempotently`,
  INVALID_TOPIC_EXCEPTION: (topic, cluster) => `${cluster} takes no messages for ${topic}`,
  INVALID_RECORD: (topic) => `${topic} does not take this message`,
  INVALID_TIMESTAMP: (topic) => `${topic} does not take messages of this time`,
  POLICY_VIOLATION: (topic) => `${topic} does not take this message: a policy of the cluster`,
}

export function publishFailure(error: unknown, { topic, cluster }: { topic: string; cluster: string }): Error {
  if (error instanceof UnknownTopic) return new TargetFailed(`${cluster} has no topic ${topic}`)
  const found = [...errorsIn(error)]
  const ids = namesIn(found, 'apiId')
  if (ids.includes('SASL_AUTHENTICATION_FAILED')) {
    return new TargetFailed(`${cluster} does not accept this node’s user and password`)
  }
  const final = ids.find((id) => permanent[id])
  if (final !== undefined) return new PermanentError(`${permanent[final]!(topic, cluster)} (${final})`)
  if (ids.length > 0) return new TargetFailed(`${cluster} did not take the message (${ids.join(', ')})`)
  const codes = namesIn(found, 'code')
  const plain = codes.filter((code) => !code.startsWith('PLT_KFK_'))
  return new TargetFailed(`no answer from ${cluster} (${[...plain, ...codes][0] ?? 'unknown'})`)
}

function* errorsIn(error: unknown, depth = 0): Generator<object> {
  if (typeof error !== 'object' || error === null || depth > 5) return
  yield error
  const { errors, cause } = error as { errors?: unknown; cause?: unknown }
  if (Array.isArray(errors)) for (const each of errors) yield* errorsIn(each, depth + 1)
  yield* errorsIn(cause, depth + 1)
}

function namesIn(errors: object[], property: 'apiId' | 'code'): string[] {
  const values = errors.map((each) => (each as Record<string, unknown>)[property])
  return [...new Set(values.filter((value) => typeof value === 'string'))]
}
