/** The Kafka target: one message for one attempt, written by all replicas that are in sync before it counts as published. */
import type { BuiltInTarget } from '@carillon/contract'
import { type HandlerContext, PermanentError } from '@carillon/sdk'
import { type KafkaClusterConfig, readCluster } from '../../config/kafka-target-config.ts'
import type { SecretRefs } from '../../config/secret-refs.ts'
import { monotonicMs } from '../../lib/clock.ts'
import { executionHeaders } from '../execution-headers.ts'
import { givenTo } from '../given.ts'
import { checkAgain } from '../operator-check.ts'
import { TargetFailed } from '../target-failed.ts'
import { publishFailure } from './failures.ts'
import { clusterNameOf, type KafkaTarget } from './kafka-rules.ts'
import { Producers, type Published } from './producers.ts'

export interface KafkaTargetOptions {
  rules: { check(target: BuiltInTarget, tenant: string): void }
  clusters: ReadonlyMap<string, KafkaClusterConfig>
  secrets: SecretRefs
  /** What brokers show of us. */
  clientId: string
  /** How long a message may take, whatever the job says, with all that a producer tries by itself; at most half a minute. */
  maxRequestSec: number
}

const longestSec = 30

export class KafkaTargetRunner {
  readonly #options: KafkaTargetOptions
  readonly #producers: ReadonlyMap<string, Producers>

  private constructor(options: KafkaTargetOptions, producers: ReadonlyMap<string, Producers>) {
    this.#options = options
    this.#producers = producers
  }

  /** Connects to nothing yet: a cluster may be away. Throws CONFIG_INVALID for settings that cannot work. */
  static async open(options: KafkaTargetOptions): Promise<KafkaTargetRunner> {
    const { clusters, secrets, clientId, maxRequestSec } = options
    const withinMs = Math.min(longestSec, maxRequestSec) * 1_000
    const producers = new Map<string, Producers>()
    for (const [name, { url }] of clusters) {
      const place = await readCluster(name, url, secrets)
      producers.set(name, await Producers.open(place, { clientId, withinMs }))
    }
    return new KafkaTargetRunner(options, producers)
  }

  async run(ctx: HandlerContext): Promise<Published> {
    const target = (ctx.target as { kafka?: KafkaTarget } | null)?.kafka
    if (!target) throw new PermanentError('the execution has no Kafka target')
    const { rules, clusters, maxRequestSec } = this.#options
    checkAgain(rules, { target: { kafka: target }, tenant: ctx.tenant, elsewhere: true })
    const cluster = clusterNameOf(target, clusters)
    const { topic } = target
    const began = monotonicMs()
    const say = (what: string) => ctx.log(`${cluster}/${topic}: ${what} after ${Math.round(monotonicMs() - began)} ms`)
    const withinSec = Math.min(longestSec, maxRequestSec)
    const tooLong = AbortSignal.timeout(withinSec * 1_000)
    try {
      const published = await this.#producers.get(cluster)!.publish(
        {
          topic,
          key: target.key ?? ctx.jobId,
          value: JSON.stringify(givenTo(ctx) ?? null),
          headers: { ...target.headers, ...executionHeaders(ctx) },
        },
        AbortSignal.any([ctx.signal, tooLong]),
      )
      say(`partition ${published.partition}, offset ${published.offset}`)
      return published
    } catch (error) {
      ctx.signal.throwIfAborted()
      const failure = tooLong.aborted
        ? new TargetFailed(`no answer from ${cluster} within ${withinSec} s, the longest this node waits`)
        : publishFailure(error, { topic, cluster })
      say(failure.message)
      throw failure
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#producers.values()].map((each) => each.stop()))
  }
}
