/** What a Kafka target may be, and which cluster it means. */
import { type ErrorDetail, pointerPart, type WireJobInput } from '@carillon/contract'

export type KafkaTarget = NonNullable<WireJobInput['target']['kafka']>

const topicForm = /^[A-Za-z0-9._-]{1,249}$/
const ours = /^(carillon-.*|traceparent|tracestate)$/i

/** The name of the cluster: as the job says, or the only one there is, or `default`. */
export function clusterNameOf({ cluster }: KafkaTarget, clusters: ReadonlyMap<string, unknown>): string {
  if (cluster !== undefined) return cluster
  const [only = 'default'] = clusters.keys()
  return clusters.size === 1 ? only : 'default'
}

export function kafkaProblems({ topic, headers }: KafkaTarget): ErrorDetail[] {
  const problems: ErrorDetail[] = []
  const pointer = '/target/kafka/topic'
  if (typeof topic !== 'string' || !topicForm.test(topic) || /^\.{1,2}$/.test(topic)) {
    const hint = 'Letters, digits, dot, hyphen and underscore, at most 249'
    problems.push({ pointer, message: 'is not the name of a topic', hint })
  } else if (topic.startsWith('__')) {
    problems.push({ pointer, message: `${topic} is internal to Kafka`, hint: 'Name a topic of your own' })
  }
  for (const name of Object.keys(headers ?? {})) {
    if (!ours.test(name)) continue
    problems.push({
      pointer: `/target/kafka/headers/${pointerPart(name)}`,
      message: `${name} is set by Carillon`,
      hint: 'Leave it out',
    })
  }
  return problems
}
