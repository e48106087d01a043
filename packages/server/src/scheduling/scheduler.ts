/**
 * The shard leader's work: keep the hot window filled and FIRE what is due, in batches, in turns over tenants.
 *
 * What must stay true: an entry taken from the window is fired, or put back, or dropped because the database refused it
 * (then a later read finds whatever stands there now). FIRE decides, not this.
 */
import type { Flow } from '../domain/fairness.ts'
import type { HotEntry, HotWindow } from '../hot-window/port.ts'
import type { Leadership, LedShard } from '../leadership/port.ts'
import { BatchLimit } from '../lib/batch-limit.ts'
import { type Clock, monotonicMs } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { fireReturns, type ReturnSource } from '../store/executions/returning.ts'
import type { Isolation, Sieve } from '../store/quarantine/isolation.ts'
import { executionRow, scheduleRow } from '../store/quarantine/set-aside.ts'
import { findUnusableSubmissions } from '../store/quarantine/stuck.ts'
import type { QueuedWork } from '../store/rows.ts'
import { fire, type Move, type Occurrence } from '../store/schedules/fire.ts'
import { wasTooSlow } from '../store/trouble.ts'
import { type PlannedFire, planSchedule } from './plan.ts'
import { WindowReader } from './reader.ts'

/** Not larger: what comes due while a batch is fired waits for the next. See docs/decisions/0026-several-batches-of-fires.md. */
const batchSize = 500
/** Batches under way at once. The others find something only when more is due than the first one took. */
const fireConcurrency = 3
/** An entry the database did not move is tried again so soon, so often; after that the next read decides. */
const againMs = 25
const maxTries = 4

export interface SchedulerOptions {
  database: Database
  leadership: Leadership
  window: HotWindow
  signals: Signals
  clock: Clock
  tag: (flows: readonly Flow[]) => Promise<number[]>
  isolation: Isolation
  /** Told of what callers enqueued in their own transactions, once it is in the ledger. */
  onSubmitted?: (items: { tenant: string; executionId: string }[]) => void
  pollMs: number
  windowMs: number
  logger: Logger
}

type ScheduleEntry = HotEntry & { source: 'schedules' }
type ReturnEntry = HotEntry & { source: ReturnSource }
type Planned = PlannedFire & { entry: ScheduleEntry }

export class Scheduler implements Service {
  readonly #options: SchedulerOptions
  readonly #reader: WindowReader
  readonly #readLoop: Loop
  readonly #fireLoop: Loop
  readonly #limit = new BatchLimit(batchSize)
  #unsubscribe: (() => void)[] = []

  constructor(options: SchedulerOptions) {
    this.#options = options
    const { database, window, clock, windowMs, logger, isolation } = options
    this.#reader = new WindowReader({ database, window, clock, windowMs, isolation })
    this.#readLoop = new Loop({
      name: 'hot window',
      everyMs: options.pollMs,
      logger,
      runOnce: async () => {
        await this.#reader.runOnce(this.#options.leadership.shards().map((s) => s.shard))
        this.#fireLoop.wake()
      },
    })
    this.#fireLoop = new Loop({ name: 'fire', everyMs: options.pollMs, logger, runOnce: () => this.#fireDue() })
  }

  async start(): Promise<void> {
    const { leadership, signals, window } = this.#options
    this.#unsubscribe = [
      leadership.onChange((shards) => {
        window.keepOnly(new Set(shards.map((s) => s.shard)))
        this.#reader.forget()
        this.#readLoop.wake()
      }),
      signals.subscribe((signal) => {
        if (signal.kind === 'DUE' && this.#reader.hint(signal.at)) this.#readLoop.wake()
      }),
    ]
    await this.#readLoop.start()
    await this.#fireLoop.start()
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await this.#readLoop.stop()
    await this.#fireLoop.stop()
  }

  /** Reads and fires what is due now. For tests and simulation. */
  async runOnce(): Promise<void> {
    await this.#reader.runOnce(this.#options.leadership.shards().map((s) => s.shard))
    await this.#fireDue()
  }

  /** Fires everything that is due; answers how long until the next. */
  async #fireDue(): Promise<number> {
    const { window, clock } = this.#options
    const { aheadMs = 1 } = clock
    const fired = await Promise.allSettled(Array.from({ length: fireConcurrency }, () => this.#fireInTurn(aheadMs)))
    for (const each of fired) if (each.status === 'rejected') throw each.reason
    const next = window.nextDue()
    return next === null ? this.#options.pollMs : Math.max(0, next + aheadMs - clock.now())
  }

  /** Takes a batch, fires it, and so on until nothing is due. `aheadMs`: the database compares due times with its own clock. */
  async #fireInTurn(aheadMs: number): Promise<void> {
    const { window, clock, leadership } = this.#options
    for (;;) {
      const now = clock.now() - aheadMs
      const batch = window.take(now, this.#limit.current)
      if (batch.length === 0) return
      try {
        await this.#limit.watch(() => this.#fireBatch(batch, leadership.shards(), now), wasTooSlow)
      } catch (error) {
        // Whether it happened is not known: put all back, FIRE refuses what has moved.
        for (const entry of batch) window.put(entry)
        throw error
      }
    }
  }

  async #fireBatch(batch: HotEntry[], led: readonly LedShard[], now: number): Promise<void> {
    await this.#fireSchedules(batch, led, now)
    for (const source of ['retries', 'submissions'] as const) await this.#fireReturns(source, batch, led, now)
  }

  async #fireSchedules(batch: HotEntry[], led: readonly LedShard[], now: number): Promise<void> {
    const entries = batch.filter((entry) => entry.source === 'schedules')
    if (entries.length === 0) return
    // A definition that cannot be planned is set aside: its job is paused.
    const planned = await this.#options.isolation.each(
      'plan of a fire',
      entries,
      (entry): Planned => ({ entry, ...planSchedule(entry.schedule, now) }),
      (entry) => scheduleRow(entry.key),
    )
    const rowOf = ({ entry, occurrences }: Planned) => scheduleRow(entry.key, occurrences[0]?.executionId)
    const { isolation, tag } = this.#options
    const tagged = await isolation.run('tags of schedules', planned, (part) => this.#tag(part, tag), rowOf)
    const ready = tagged.done.flatMap(({ items }) => items)
    const fired = await isolation.run('FIRE', ready, (part) => this.#fire(part, led), rowOf)
    const stopped = tagged.stoppedBy ?? fired.stoppedBy
    if (stopped) throw stopped.error
  }

  async #tag(planned: Planned[], tag: SchedulerOptions['tag']): Promise<void> {
    const firing: Occurrence[] = []
    const flows: Flow[] = []
    for (const { entry, occurrences } of planned) {
      const { pool, lane, tenant } = entry.schedule.job
      for (const occurrence of occurrences) {
        if (occurrence.skip) continue
        firing.push(occurrence)
        flows.push({ pool, lane, tenant })
      }
    }
    const tags = await tag(flows)
    firing.forEach((occurrence, i) => {
      occurrence.tag = tags[i]!
    })
  }

  async #fire(planned: Planned[], led: readonly LedShard[]): Promise<void> {
    const moves: Move[] = planned.map(({ move }) => move)
    const occurrences = planned.flatMap((each) => each.occurrences)
    const entries = planned.map(({ entry }) => entry)
    const fired = await fire(this.#options.database, shardsOf(entries, led), moves, occurrences)
    this.#announce(fired.queued)
    if (fired.collisions.length > 0) {
      this.#options.logger.error({ executionIds: fired.collisions }, 'execution ids belong to other occurrences')
    }
    if (fired.tooOld.length > 0) {
      this.#options.logger.warn(
        { executionIds: fired.tooOld },
        'occurrences older than the kept history were passed over',
      )
    }
    const asOf = monotonicMs()
    const moved = new Set(fired.moved)
    for (const { entry, move } of planned) {
      if (!moved.has(entry.key)) this.#again(entry)
      else if (move.nextDue !== null && move.nextDue <= this.#reader.windowEnd) {
        // The same objects again: whoever has taken an entry has it alone, and new ones would live just too long for V8.
        const { schedule } = entry
        schedule.nominal = move.nextNominal!
        schedule.due = move.nextDue
        schedule.fires += move.fires
        this.#options.window.put(Object.assign(entry, { due: move.nextDue, tries: 0, asOf }))
      }
    }
  }

  async #fireReturns(source: ReturnSource, batch: HotEntry[], led: readonly LedShard[], now: number): Promise<void> {
    const entries = batch.filter((entry) => entry.source === source)
    if (entries.length === 0) return
    const { isolation, tag } = this.#options
    const items = entries.flatMap((entry) =>
      entry.source === 'schedules' ? [] : [{ entry: entry as ReturnEntry, tag: 0 }],
    )
    type Tagged = (typeof items)[number]
    const rowOf = ({ entry }: Tagged) => executionRow(source, entry.key)
    const reserve = async (part: Tagged[]) => {
      const tags = await tag(part.map(({ entry }) => entry.item))
      part.forEach((each, i) => {
        each.tag = tags[i]!
      })
    }
    const tagged = await isolation.run(`tags of ${source}`, items, reserve, rowOf)
    const move = async (part: Tagged[]) => {
      const named = part.map(({ entry, tag: reserved }) => ({ executionId: entry.key, tag: reserved }))
      const shards = shardsOf(
        part.map(({ entry }) => entry),
        led,
      )
      const { moved, queued } = await fireReturns(this.#options.database, source, shards, named)
      this.#announce(queued)
      const done = new Set(moved)
      const items = part.flatMap(({ entry }) => (done.has(entry.key) ? [entry.item] : []))
      if (source === 'submissions') this.#options.onSubmitted?.(items)
      for (const { entry } of part) if (!done.has(entry.key) && entry.due <= now) this.#again(entry)
    }
    const ready = tagged.done.flatMap((each) => each.items)
    const fired = await isolation.run(`FIRE of ${source}`, ready, move, rowOf, this.#sieveOf(source))
    const stopped = tagged.stoppedBy ?? fired.stoppedBy
    if (stopped) throw stopped.error
  }

  #sieveOf(source: ReturnSource): Sieve<{ entry: ReturnEntry }> | undefined {
    if (source === 'retries') return undefined
    const idOf = ({ entry }: { entry: ReturnEntry }) => entry.key
    return { idOf, find: (items) => findUnusableSubmissions(this.#options.database, items.map(idOf)) }
  }

  #again(entry: HotEntry): void {
    if (entry.tries + 1 >= maxTries) {
      this.#reader.lookBackTo(entry.source === 'schedules' ? entry.schedule.due : entry.item.due)
      return
    }
    this.#options.window.put({ ...entry, due: this.#options.clock.now() + againMs, tries: entry.tries + 1 })
  }

  #announce(queued: QueuedWork[]): void {
    for (const { pool, lane, tag } of queued) this.#options.signals.publish({ kind: 'READY', pool, lane, tag })
  }
}

function shardsOf(entries: HotEntry[], led: readonly LedShard[]): LedShard[] {
  const wanted = new Set(entries.map((entry) => entry.shard))
  return led.filter((s) => wanted.has(s.shard))
}
