/** The queues of this node's pools through Kafka. They share a producer. */

import type { KafkaAddress } from '../../kafka/client.ts'
import { KafkaCluster } from '../../kafka/cluster.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Service } from '../../lib/service.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Database } from '../../store/database.ts'
import type { Queues } from '../port.ts'
import type { RelayFigures } from './figures.ts'
import { KafkaPoolQueue } from './queue.ts'

export interface KafkaQueuesOptions {
  address: KafkaAddress
  database: Database
  clock: Clock
  nodeName: string
  installationId: () => Promise<string>
  logger: Logger
  /** Of all pools that this node relays. */
  figures: RelayFigures
  onFallback: () => void
  onAway: (away: boolean) => void
}

export class KafkaQueues implements Queues, Service {
  readonly #options: KafkaQueuesOptions
  readonly #cluster: KafkaCluster
  readonly #underWay = new Map<string, number>()
  readonly #away = new Set<string>()
  #installationId = ''

  constructor(options: KafkaQueuesOptions) {
    this.#options = options
    const { address, nodeName, logger } = options
    this.#cluster = new KafkaCluster({ address, clientId: `carillon ${nodeName}`, logger })
  }

  async start(): Promise<void> {
    await this.#cluster.start()
    this.#installationId = await this.#options.installationId()
  }

  async stop(): Promise<void> {
    await this.#cluster.stop()
  }

  of(pool: string, onLeased: (lane: number, tag: number) => void): KafkaPoolQueue {
    const { database, clock, logger, figures, onFallback, onAway } = this.#options
    return new KafkaPoolQueue({
      ...{ database, clock, logger, pool, onLeased, onFallback },
      ...{ cluster: this.#cluster, installationId: this.#installationId },
      figures: {
        published: (first, again) => figures.published(first, again),
        underWay: (count) => {
          this.#underWay.set(pool, count)
          figures.underWay([...this.#underWay.values()].reduce((sum, each) => sum + each, 0))
        },
      },
      onAway: (away) => {
        if (away) this.#away.add(pool)
        else this.#away.delete(pool)
        onAway(this.#away.size > 0)
      },
    })
  }
}
