/** Figures of what is done outside of PostgreSQL: which servers are away, what is published, what a cache answers. */
import { Counter, Gauge } from './families.ts'

export class SeamMetrics {
  readonly #serverAway = new Gauge({
    name: 'carillon_server_away',
    help: '1 while a server of scale-out cannot be reached and PostgreSQL does its work',
    labels: ['server'],
  })
  readonly #fellBack = new Counter({
    name: 'carillon_fallbacks_total',
    help: 'Calls that PostgreSQL answered because a server of scale-out was away, by what was asked',
    labels: ['seam'],
  })
  readonly #relayed = new Counter({
    name: 'carillon_queue_published_total',
    help: 'Ready executions that this node has published to Kafka, for the first time or again because they were not leased',
    labels: ['time'],
  })
  readonly #underWay = new Gauge({
    name: 'carillon_queue_lag',
    help: 'Executions that were published to Kafka and are not leased, of the pools that this node relays',
  })
  readonly #published = new Counter({
    name: 'carillon_published_total',
    help: 'Messages that this node has published to Kafka, by topic; repeated ones count again',
    labels: ['topic'],
  })
  readonly #statusReads = new Counter({
    name: 'carillon_status_reads_total',
    help: 'Status reads, by what answered: hit, the cache in Redis; miss, PostgreSQL, because Redis did not have it',
    labels: ['result'],
  })
  readonly families = [
    ...[this.#serverAway, this.#fellBack, this.#relayed, this.#underWay, this.#published, this.#statusReads],
  ]
  /** Of each server, what of the node cannot reach it. */
  readonly #missing = { etcd: new Set<string>(), redis: new Set<string>(), kafka: new Set<string>() }
  #cache: { hit: { value: number }; miss: { value: number } } | null = null

  /** `user`: what of the node uses it. */
  serverAway(server: 'etcd' | 'redis' | 'kafka', user: string, away: boolean): void {
    const missing = this.#missing[server]
    if (away) missing.add(user)
    else missing.delete(user)
    this.#serverAway.of(server).value = missing.size > 0 ? 1 : 0
  }

  /** Those that something of the node cannot reach. */
  serversAway(): string[] {
    return Object.entries(this.#missing).flatMap(([server, users]) => (users.size > 0 ? [server] : []))
  }

  published(topic: string, count: number): void {
    this.#published.of(topic).value += count
  }

  fellBack(seam: string): void {
    this.#fellBack.of(seam).value++
  }

  /** Of the cache in Redis. */
  statusRead(isHit: boolean): void {
    this.#cache ??= { hit: this.#statusReads.of('hit'), miss: this.#statusReads.of('miss') }
    this.#cache[isHit ? 'hit' : 'miss'].value++
  }

  /** What relays of ready executions to Kafka count. */
  readonly relay = {
    published: (first: number, again: number): void => {
      this.#relayed.of('first').value += first
      if (again > 0) this.#relayed.of('again').value += again
    },
    underWay: (count: number): void => {
      this.#underWay.of().value = count
    },
  }
}
