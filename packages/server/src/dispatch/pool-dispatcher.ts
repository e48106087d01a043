/**
 * Gives a pool's ready executions to the workers that wait for them. One call of LEASE serves all workers waiting at this
 * node; free slots are filled before anything is taken ahead.
 *
 * What must stay true: every row leased goes to the request it was leased for, or is handed back. A request whose time is
 * over is answered when the LEASE under way has ended, and after at least one. A hint only makes it poll sooner;
 * without any it polls once a second.
 */
import { BatchLimit } from '../lib/batch-limit.ts'
import type { Clock } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Activity } from '../observability/activity.ts'
import type { LeasedWork } from '../observability/leased-work.ts'
import type { Logger } from '../observability/logger.ts'
import type { PoolQueue, Selection } from '../queue/port.ts'
import type { Database } from '../store/database.ts'
import type { Leased, Slot } from '../store/executions/lease.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { wasTooSlow } from '../store/trouble.ts'
import { leaseGood } from './lease.ts'

export interface LeaseDemand {
  workerId: string
  slots: number
  prefetch: number
  waitMs: number
  /** Aborted when the request has waited enough: it is answered with what there is. */
  enough?: AbortSignal
}

/** What a request is answered with: JSON texts of executions with commas between them. */
export type LeasedText = string

interface Waiting extends LeaseDemand {
  /** Gives the executions to the worker. False: it is gone. */
  deliver: (executions: LeasedText) => boolean
  /** At least one LEASE has run for it. */
  looked: boolean
  late: boolean
}

export interface PoolDispatcherOptions {
  pool: string
  queue: PoolQueue
  database: Database
  isolation: Isolation
  clock: Clock
  pollMs: number
  logger: Logger
  /** False: the worker is suspect, and a lease would wait with it. */
  mayLease: (workerId: string) => boolean
  /** Leases whose worker went away in the meantime. */
  onUndelivered: (executions: LeasedText) => void
  activity?: Activity
  /** Told what was leased, for those who hear of its end. */
  leasedWork?: LeasedWork
}

/** The slot of a waiting worker, and what to fill it with. */
export interface FreeSlot {
  slot: Slot
  reading: Selection['reading']
}

/** The most that one LEASE takes: it stays short, and the next follows at once. */
const maxPerCall = 1_000
/**
 * An idle pool is polled with few slots: free slots cost even if nothing is leased. [m] A LEASE that finds
 * nothing, of 64 slots: 270 µs of CPU in PostgreSQL and 250 in the node; of 1,000 slots 370 and 560.
 */
const fewPerCall = 64
/** What one LEASE may weigh: payloads can be a quarter of a MiB each. A call that brings more makes the next ones smaller. */
const maxLength = 8_000_000
/** After a hand-back for a missing handler, delay our polls by `yieldDelayMs` for `yieldForMs`, so that other nodes go first. */
const yieldDelayMs = 50
const yieldForMs = 5_000

export class PoolDispatcher implements Service {
  readonly #options: PoolDispatcherOptions
  readonly #loop: Loop
  readonly #limit = new BatchLimit(maxPerCall)
  /** The next LEASE asks for this many; more after a call that filled its limit. */
  #asked = fewPerCall
  readonly #waiting = new Set<Waiting>()
  #yieldUntil = Number.NEGATIVE_INFINITY
  #yieldTimer: NodeJS.Timeout | null = null
  #looking = false
  #unsubscribe = () => {}
  /** A slot that a hand-over is filling; never rejects. */
  #filling: Promise<unknown> = Promise.resolve()

  constructor(options: PoolDispatcherOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: `dispatch of ${options.pool}`,
      everyMs: options.pollMs,
      logger: options.logger,
      runOnce: () => this.runOnce(),
    })
  }

  start(): Promise<void> {
    this.#unsubscribe = this.#options.queue.onReady(() => this.wake())
    return this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    if (this.#yieldTimer) clearTimeout(this.#yieldTimer)
    await this.#loop.stop()
    for (const demand of this.#waiting) demand.deliver('')
    await this.#options.queue.stop()
  }

  /** Work became ready; `tag` is the smallest of it. */
  hint(lane: number, tag: number): void {
    this.#options.queue.hint(lane, tag)
    if (this.#waiting.size > 0) this.#wake()
  }

  /** Polls again although nothing new became ready. */
  wake(): void {
    if (this.#waiting.size > 0) this.#wake()
  }

  /**
   * A worker here lacked a handler. Without this the node that handed the execution back would always be the first to
   * take it again, and a worker that has the handler would never see it.
   */
  yieldToOthers(): void {
    this.#yieldUntil = this.#options.clock.now() + yieldForMs
  }

  /** Resolves with at least one lease, or with none after `waitMs` or when the signal is aborted. */
  lease(demand: LeaseDemand, signal: AbortSignal): Promise<LeasedText> {
    return new Promise((resolve) => {
      const settle = (executions: LeasedText): boolean => {
        if (!this.#waiting.delete(waiting)) return false
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        demand.enough?.removeEventListener('abort', onLate)
        resolve(executions)
        return true
      }
      const waiting: Waiting = { ...demand, deliver: settle, looked: demand.slots + demand.prefetch === 0, late: false }
      const onAbort = () => settle('')
      const onLate = () => {
        waiting.late = true
        if (waiting.looked && !this.#looking) settle('')
      }
      const timer = setTimeout(onLate, demand.waitMs)
      signal.addEventListener('abort', onAbort)
      demand.enough?.addEventListener('abort', onLate)
      this.#waiting.add(waiting)
      if (signal.aborted) settle('')
      else if (demand.enough?.aborted) onLate()
      this.#wake()
    })
  }

  /**
   * For a hand-over: `write` fills the slot of a waiting worker in its own transaction. Null: no worker
   * waits, or a LEASE is under way and will find the work.
   */
  fill<T>(write: (place: FreeSlot) => Promise<{ leased: Leased | null; answer: T }>): Promise<T> | null {
    const { queue, clock } = this.#options
    if (this.#looking || clock.now() < this.#yieldUntil) return null
    const demand = [...this.#waiting].find(({ slots, workerId }) => slots > 0 && this.#options.mayLease(workerId))
    if (demand === undefined) return null
    const slot = { workerId: demand.workerId, prefetched: false }
    const selection = queue.selectNearby()
    const filled = this.#look(async () => {
      const { leased, answer } = await write({ slot, reading: selection.reading })
      if (leased !== null) {
        queue.settled(selection, [leased], true)
        this.#take([leased], new Map([[demand.workerId, demand]]))
      }
      return answer
    })
    this.#filling = filled.catch(() => {})
    return filled
  }

  async runOnce(): Promise<void> {
    while (await this.#leaseOnce());
  }

  /** One call of LEASE for all waiting workers. True: there may be more. */
  async #leaseOnce(): Promise<boolean> {
    while (this.#looking) await this.#filling
    const present = [...this.#waiting]
    return this.#look(async () => {
      try {
        const { slots, demands } = this.#freeSlots()
        if (slots.length === 0) return false
        const { queue } = this.#options
        const selection = queue.select(slots.length)
        if (selection === null) return false
        const { leased, inOrder } = await this.#limit
          .watch(() => leaseGood(this.#options, selection, slots), wasTooSlow)
          .catch((error) => {
            queue.abandoned(selection)
            throw error
          })
        queue.settled(selection, leased, inOrder)
        const count = this.#take(leased, demands)
        this.#adapt(count, slots.length)
        return count === slots.length
      } finally {
        for (const demand of present) demand.looked = true
      }
    })
  }

  /** No other LEASE of this pool runs meanwhile; requests whose time is over are answered after it. */
  async #look<T>(look: () => Promise<T>): Promise<T> {
    this.#looking = true
    try {
      return await look()
    } finally {
      this.#looking = false
      for (const demand of [...this.#waiting]) if (demand.late && demand.looked) demand.deliver('')
    }
  }

  /** Returns how many. */
  #take(leased: Leased[], demands: Map<string, Waiting>): number {
    const count = leased.reduce((sum, each) => sum + each.count, 0)
    this.#weigh(leased, count)
    this.#tell(leased, count)
    this.#hand(leased, demands)
    return count
  }

  #tell(leased: Leased[], count: number): void {
    const { pool, clock, activity, leasedWork } = this.#options
    if (activity === undefined || leasedWork === undefined || count === 0) return
    activity.batch('LEASE', count)
    const now = clock.now()
    for (const each of leased) activity.leased(leasedWork.add(pool, each, now))
  }

  #wake(): void {
    if (this.#options.clock.now() >= this.#yieldUntil) this.#loop.wake()
    else
      this.#yieldTimer ??= setTimeout(() => {
        this.#yieldTimer = null
        this.#loop.wake()
      }, yieldDelayMs)
  }

  #freeSlots(): { slots: Slot[]; demands: Map<string, Waiting> } {
    const slots: Slot[] = []
    const demands = new Map<string, Waiting>()
    const most = Math.min(this.#limit.current, this.#asked)
    for (const demand of this.#waiting) {
      if (demands.has(demand.workerId) || slots.length >= most || !this.#options.mayLease(demand.workerId)) continue
      demands.set(demand.workerId, demand)
      const free = Math.min(demand.slots, most - slots.length)
      for (let i = 0; i < free; i++) slots.push({ workerId: demand.workerId, prefetched: false })
    }
    for (const demand of demands.values()) {
      const ahead = Math.min(demand.prefetch, most - slots.length)
      for (let i = 0; i < ahead; i++) slots.push({ workerId: demand.workerId, prefetched: true })
    }
    return { slots, demands }
  }

  #adapt(count: number, asked: number): void {
    if (count === asked) this.#asked = Math.min(maxPerCall, this.#asked * 4)
    else if (count < asked / 4) this.#asked = Math.max(fewPerCall, this.#asked / 2)
  }

  #weigh(leased: Leased[], count: number): void {
    const length = leased.reduce((sum, { executions }) => sum + executions.length, 0)
    if (length > maxLength) this.#limit.lower((count * maxLength) / length)
  }

  #hand(leased: Leased[], demands: Map<string, Waiting>): void {
    const byWorker = new Map<string, LeasedText>()
    for (const { workerId, executions } of leased) {
      const before = byWorker.get(workerId)
      byWorker.set(workerId, before === undefined ? executions : `${before},${executions}`)
    }
    for (const [workerId, executions] of byWorker) {
      if (!demands.get(workerId)!.deliver(executions)) this.#options.onUndelivered(executions)
    }
  }
}
