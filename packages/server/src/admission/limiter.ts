/**
 * Admits what waits for limits: reads what there is room for, reserves tags for it, and calls ADMIT. The leader of shard 0 does so, for the
 * whole installation.
 *
 * What must stay true: ADMIT decides under the locks of the keys, so a second node that does the same for a moment gives no slot away twice.
 * Whatever begins to wait or frees a slot names its key in `limit_changes`, in its own transaction; the signal only says when to look. So
 * a node that dies leaves nothing that the next one does not find.
 */
import type { Leadership } from '../leadership/port.ts'
import type { Clock } from '../lib/clock.ts'
import { type Again, Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { admit, anyLimits, checkSlots, readAdmissible, refundFlows } from '../store/limits/admit.ts'
import { DeclarationReader } from './declaration-reader.ts'
import type { TagFlows } from './tags.ts'

export interface LimiterOptions {
  database: Database
  leadership: Pick<Leadership, 'shards' | 'onChange'>
  signals: Signals
  clock: Clock
  tag: TagFlows
  pollMs: number
  logger: Logger
  /** Called with the number of slots that were lost and found again. */
  onLeaked?: (slots: number) => void
}

const batchSize = 500
/** How often slots are compared with who holds them. */
const checkEveryMs = 60_000

export class Limiter implements Service {
  readonly #options: LimiterOptions
  readonly #loop: Loop
  readonly #reader: DeclarationReader
  readonly #checks: Loop
  /** Something is declared: without, nothing waits for a limit. */
  #any = false
  #unsubscribe: (() => void)[] = []

  constructor(options: LimiterOptions) {
    this.#options = options
    const { pollMs, logger, signals } = options
    this.#loop = new Loop({ name: 'admission to limits', everyMs: pollMs, logger, runOnce: () => this.#runAsLeader() })
    this.#reader = new DeclarationReader({ name: 'limits', signals, logger, read: () => this.#learn() })
    this.#checks = new Loop({ name: 'check of slots', everyMs: checkEveryMs, logger, runOnce: () => this.#check() })
  }

  async start(): Promise<void> {
    const { signals, leadership } = this.#options
    this.#unsubscribe = [
      leadership.onChange(() => this.#wake()),
      signals.subscribe(({ kind }) => {
        if (kind === 'READY' || kind === 'DUE' || kind === 'SLOTS') this.#wake()
        // Told at this node only, and the leader may be another one.
        else if (kind === 'ENDED' && this.#any) signals.publish({ kind: 'SLOTS' })
      }),
    ]
    for (const service of [this.#reader, this.#loop, this.#checks]) await service.start()
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await Promise.all([this.#reader, this.#loop, this.#checks].map((service) => service.stop()))
  }

  async #learn(): Promise<void> {
    const before = this.#any
    this.#any = await anyLimits(this.#options.database)
    if (this.#any && !before) this.#wake()
  }

  /** Until there is room for nothing more. Answers when a rate allows something again. */
  async runOnce(): Promise<number | null> {
    const { database, signals, tag } = this.#options
    for (;;) {
      const { nextAt, ...found } = await readAdmissible(database, batchSize)
      if (found.keys.length === 0) return nextAt
      await refundFlows(database)
      const tags = await tag(found.candidates)
      const { moved, queued, more } = await admit(database, found, tags)
      for (const { pool, lane, tag } of queued) signals.publish({ kind: 'READY', pool, lane, tag })
      // What is left after nothing could be moved waits for the next look: it is being changed by others.
      if (moved.length === 0 && !more) return nextAt
    }
  }

  async #runAsLeader(): Promise<Again | undefined> {
    if (!this.#leads) return undefined
    const nextAt = await this.runOnce()
    return nextAt === null ? undefined : { againInMs: Math.max(nextAt - this.#options.clock.now(), 10) }
  }

  /** A slot that is lost is a defect of ours: what waits for it would wait for ever. */
  async #check(): Promise<void> {
    if (!this.#leads) return
    const { database, signals, logger, onLeaked } = this.#options
    const leaks = await checkSlots(database)
    for (const { key, leaked } of leaks.slice(0, 20))
      logger.error({ key, leaked }, 'slots of a limit were lost and are counted again')
    if (leaks.length === 0) return
    onLeaked?.(leaks.reduce((sum, { leaked }) => sum + Math.abs(leaked), 0))
    signals.publish({ kind: 'SLOTS' })
  }

  get #leads(): boolean {
    return this.#any && this.#options.leadership.shards().some(({ shard }) => shard === 0)
  }

  #wake(): void {
    if (this.#leads) this.#loop.wake()
  }
}
