/** Measures any peer through its wiring and its store. */
import { setTimeout as after } from 'node:timers/promises'
import type { Ground } from '../ground/ground.ts'
import { cpuBetween } from '../measure/cpu.ts'
import type { Peer, PeerName, Stretch, Used } from './peer.ts'
import { PeerWorkers, Submitter } from './peer-processes.ts'
import type { Store } from './wiring.ts'

const drainsWithinMs = 120_000
const picksUpWithinMs = 10_000
/** Cold code and new connections are for the first jobs of a pick-up. */
const unmeasured = 20
const lookEveryMs = 2

export class QueuePeer implements Peer {
  readonly name: PeerName
  readonly #ground: Ground
  readonly #store: Store
  /** Jobs submitted so far. */
  #submitted = 0

  constructor(ground: Ground, name: PeerName, store: Store) {
    this.#ground = ground
    this.name = name
    this.#store = store
  }

  async submitBulk(count: number, warmUp: number, way: { overHttp?: boolean } = {}): Promise<Stretch> {
    await using submitter = await Submitter.open(this.#ground, this.#process)
    await submitter.bulk(this.#take(warmUp), warmUp, way)
    const first = this.#take(count)
    const before = await this.#cpu()
    const ms = await submitter.bulk(first, count, way)
    const stretch = { count, seconds: ms / 1_000, ...(await this.#cpuSince(before)) }
    const pending = await this.#store.pending()
    if (pending !== count + warmUp) {
      throw new Error(`${this.name}: ${pending} jobs wait, ${count + warmUp} were acknowledged`)
    }
    return stretch
  }

  /**
   * The clock starts when the first `warmUp` jobs have run, so neither connections nor cold code are in it, and ends when
   * the store is asked and says that nothing is left.
   */
  async drain(count: number, warmUp: number): Promise<Stretch> {
    const total = count + warmUp
    const finishedBefore = await this.#store.finished()
    await using workers = await PeerWorkers.open(this.#ground, this.#process, this.#store.workers ?? 2)
    await Promise.all([workers.start(), workers.reached(warmUp, drainsWithinMs)])
    const [from, already] = [performance.now(), workers.runs]
    const before = await this.#cpu()
    await workers.reached(total, drainsWithinMs)
    const until = await this.#emptyAt()
    const used = await this.#cpuSince(before)
    const finished = await this.#store.finished()
    const done = finished === null ? total : finished - finishedBefore!
    if (done !== total || workers.runs !== total) {
      throw new Error(`${this.name}: ${done} of ${total} jobs are done, by ${workers.runs} runs`)
    }
    return { count: total - already, seconds: (until - from) / 1_000, ...used }
  }

  async pickup(samples: number): Promise<number[]> {
    await using workers = await PeerWorkers.open(this.#ground, this.#process, this.#store.workers ?? 2)
    await using submitter = await Submitter.open(this.#ground, this.#process)
    await workers.start({ tellEach: true })
    const tookMs: number[] = []
    for (let i = -unmeasured; i < samples; i++) {
      // Not in step with anybody's own rhythm.
      await after(10 + Math.random() * 30)
      const n = this.#take(1)
      const [began, at] = await Promise.all([workers.began(n, picksUpWithinMs), submitter.one(n)])
      if (i >= 0) tookMs.push(began - at)
    }
    return tookMs
  }

  settle(): Promise<void> {
    return this.#store.settle()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]()
  }

  get #process() {
    return { peer: this.name, place: this.#store.place }
  }

  #take(count: number): number {
    const first = this.#submitted
    this.#submitted += count
    return first
  }

  /** When the question was asked that was answered with nothing: the answer holds from then on. */
  async #emptyAt(): Promise<number> {
    const latest = performance.now() + drainsWithinMs
    for (;;) {
      const at = performance.now()
      if ((await this.#store.pending()) === 0) return at
      if (at > latest) throw new Error(`${this.name}: all jobs ran, not all are done`)
      await after(lookEveryMs)
    }
  }

  async #cpu(): Promise<Used> {
    const [cpu, redisMs] = await Promise.all([this.#ground.cpu(), this.#store.redisMs?.() ?? 0])
    return { cpu, redisMs }
  }

  /** What the harness takes for somebody else's is Redis's in part. */
  async #cpuSince(before: Used): Promise<Used> {
    const now = await this.#cpu()
    const redisMs = now.redisMs - before.redisMs
    const cpu = cpuBetween(before.cpu, now.cpu)
    return { cpu: { ...cpu, other: Math.max(0, cpu.other - redisMs) }, redisMs }
  }
}
