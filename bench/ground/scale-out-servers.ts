/**
 * Redis, etcd and Kafka for the installations that are given them, as scripts/servers starts them, in the folder of the run. What
 * each uses of the processors is told by its name.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { startEtcd } from '../../scripts/servers/etcd.ts'
import { startKafka } from '../../scripts/servers/kafka.ts'
import type { RunningServer } from '../../scripts/servers/process.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { familyMs, type ScaleOutServer } from '../measure/cpu.ts'

const starts = { redis: startRedis, etcd: startEtcd, kafka: startKafka }
const names = Object.keys(starts) as ScaleOutServer[]

export type ScaleOutUrls = Record<ScaleOutServer, string>

export class ScaleOutServers {
  readonly #folder: string
  readonly #running = new Map<ScaleOutServer, RunningServer>()
  #started = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Does nothing if they run. If one cannot be started, none is left running. */
  async start(): Promise<ScaleOutUrls> {
    if (this.#running.size === 0) {
      this.#started++
      const started = await Promise.allSettled(names.map((name) => this.#start(name)))
      const failed = started.find(({ status }) => status === 'rejected')
      if (failed !== undefined) {
        await this.stop()
        throw (failed as PromiseRejectedResult).reason
      }
    }
    const urls = [...this.#running].map(([name, { url }]) => [name, url])
    return Object.fromEntries(urls) as ScaleOutUrls
  }

  async stop(): Promise<void> {
    const running = [...this.#running.values()]
    this.#running.clear()
    await Promise.all(running.map((server) => server.stop()))
  }

  /** Ms of CPU of those that run. */
  async cpu(): Promise<Partial<Record<ScaleOutServer, number>>> {
    const used = await Promise.all([...this.#running].map(async ([name, { pid }]) => [name, await familyMs(pid)]))
    return Object.fromEntries(used)
  }

  async #start(name: ScaleOutServer): Promise<void> {
    const folder = join(this.#folder, `${name}-${this.#started}`)
    await mkdir(folder)
    this.#running.set(name, await starts[name]({ folder }))
  }
}
