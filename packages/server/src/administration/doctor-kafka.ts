/** The part of the examination that asks Kafka. Whatever is wrong there, nodes read PostgreSQL: nothing of it is a failure. */
import { kafkaPlace } from '../config/kafka-place.ts'
import { KafkaCluster } from '../kafka/cluster.ts'
import { createLogger } from '../observability/logger.ts'
import { type Finding, ok, warn } from './findings.ts'

export async function examineKafka(url: string, setting: string): Promise<Finding[]> {
  const logger = createLogger('silent')
  const cluster = new KafkaCluster({ address: kafkaPlace(url, setting), clientId: 'carillon doctor', logger })
  await cluster.start()
  try {
    const brokers = await cluster.countBrokers()
    return [ok('kafka', `${brokers} ${brokers === 1 ? 'broker answers' : 'brokers answer'}`)]
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return [
      warn(
        'kafka',
        `does not answer (${reason}): nodes read PostgreSQL instead`,
        'Look whether it runs, can be reached and knows the user; the nodes use it again by themselves',
      ),
    ]
  } finally {
    await cluster.stop()
  }
}
