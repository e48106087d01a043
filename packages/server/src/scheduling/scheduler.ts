/**
 * The shard leader's work: claim from the due source what is due in the next seconds, keep it in a timing wheel, and FIRE
 * it when it is due, in batches, in turns over tenants.
 *
 * What must stay true: an entry taken from the wheel is fired and confirmed, or put back, or given back to the source (then a
 * later claim brings what PostgreSQL has then). FIRE decides, not this.
 */
import type { Flow, WeightOf } from '../domain/fairness.ts'
import type { Confirmation, DueOccurrence, DueReturn, DueSource } from '../due-source/port.ts'
import type { Leadership, LedShard } from '../leadership/port.ts'
import { BatchLimit } from '../lib/batch-limit.ts'
import type { Clock } from '../lib/clock.ts'
import { type Again, Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import { type Activity, noActivity, type Work } from '../observability/activity.ts'
import { other } from '../observability/families.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { readWorks } from '../store/executions/read-works.ts'
import { fireReturns, type ReturnSource } from '../store/executions/returning.ts'
import type { Isolation, Precheck } from '../store/quarantine/isolation.ts'
import { executionRow, scheduleRow } from '../store/quarantine/set-aside.ts'
import { findUnusableSubmissions } from '../store/quarantine/stuck.ts'
import type { QueuedWork } from '../store/rows.ts'
import { type Fired, fire, type Move, type Occurrence } from '../store/schedules/fire.ts'
import { wasTooSlow } from '../store/trouble.ts'
import { type PlannedFire, planSchedule } from './plan.ts'
import { Wheel, type WheelEntry } from './wheel.ts'

/** Not larger: what comes due while a batch is fired waits for the next. See docs/decisions/0026-several-batches-of-fires.md. */
const batchSize = 500
/** Batches under way at once. The second and later ones start only when more is due than one batch holds. */
const fireConcurrency = 3
/** An entry that FIRE did not move is tried again after `againMs`, `maxTries` times in all; then it is given back. */
const againMs = 25
const maxTries = 4
/** Above this nothing more is claimed; what is due first is in the wheel. */
const maxEntries = 200_000

export interface SchedulerOptions {
  database: Database
  leadership: Leadership
  source: DueSource
  signals: Signals
  clock: Clock
  tag: (flows: readonly Flow[]) => Promise<number[]>
  weightOf?: WeightOf
  isolation: Isolation
  /** Called with submissions of callers' transactions once they are in the ledger. */
  onSubmitted?: (items: { tenant: string; executionId: string }[]) => void
  activity?: Activity
  /** Called with the number of executions that follow those of other jobs. */
  onFollowed?: (count: number) => void
  pollMs: number
  windowMs: number
  logger: Logger
}

type OccurrenceEntry = WheelEntry & { entry: DueOccurrence }
type ReturnEntry = WheelEntry & { entry: DueReturn }
type Planned = PlannedFire & { held: OccurrenceEntry }

export class Scheduler implements Service {
  readonly #options: SchedulerOptions
  readonly #wheel: Wheel
  readonly #claimLoop: Loop
  readonly #fireLoop: Loop
  readonly #limit = new BatchLimit(batchSize)
  readonly #activity: Activity
  #led: ReadonlySet<number> = new Set()
  #unsubscribe: (() => void)[] = []

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#wheel = new Wheel(options.weightOf)
    this.#activity = options.activity ?? noActivity
    const { logger } = options
    this.#claimLoop = new Loop({
      name: 'claim of what is due',
      everyMs: options.pollMs,
      logger,
      runOnce: async () => {
        await this.#claim()
        this.#fireLoop.wake()
      },
    })
    this.#fireLoop = new Loop({ name: 'fire', everyMs: options.pollMs, logger, runOnce: () => this.#fireDue() })
  }

  async start(): Promise<void> {
    const { leadership, signals, source, clock, windowMs } = this.#options
    this.#led = new Set(leadership.shards().map(({ shard }) => shard))
    this.#unsubscribe = [
      leadership.onChange((shards) => this.#ledChanged(shards)),
      signals.subscribe((signal) => {
        if (signal.kind !== 'DUE' || signal.at > clock.now() + windowMs) return
        source.hint(signal.at)
        this.#claimLoop.wake()
      }),
    ]
    await this.#claimLoop.start()
    await this.#fireLoop.start()
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await this.#claimLoop.stop()
    await this.#fireLoop.stop()
  }

  /** Claims and fires what is due now. For tests and simulation. */
  async runOnce(): Promise<void> {
    await this.#claim()
    await this.#fireDue()
  }

  #ledChanged(shards: readonly LedShard[]): void {
    const before = this.#led
    this.#led = new Set(shards.map(({ shard }) => shard))
    this.#wheel.keepOnly(this.#led)
    this.#options.source.dropped([...before.difference(this.#led)])
    this.#claimLoop.wake()
  }

  #claim(): Promise<void> {
    const { source, leadership, clock, windowMs } = this.#options
    return source.claim({
      shards: leadership.shards(),
      until: Math.ceil(clock.now() + windowMs),
      behind: this.#wheel.nextDue() === 0,
      take: (entries) => {
        for (const entry of entries) {
          const key = entry.source === 'schedules' ? entry.jobId : entry.executionId
          this.#wheel.put({ key, at: entry.due, tries: 0, entry })
        }
        return this.#wheel.size <= maxEntries
      },
    })
  }

  /** Fires everything that is due; answers how long until the next. */
  async #fireDue(): Promise<Again | undefined> {
    const { clock } = this.#options
    const { aheadMs = 1 } = clock
    const fired = await Promise.allSettled(Array.from({ length: fireConcurrency }, () => this.#fireInTurn(aheadMs)))
    for (const each of fired) if (each.status === 'rejected') throw each.reason
    const next = this.#wheel.nextDue()
    return next === null ? undefined : { againInMs: Math.max(0, next + aheadMs - clock.now()) }
  }

  /** Takes a batch, fires it, and so on until nothing is due. `aheadMs`: the database compares due times with its own clock. */
  async #fireInTurn(aheadMs: number): Promise<void> {
    const { clock, leadership } = this.#options
    for (;;) {
      const now = clock.now() - aheadMs
      const batch = this.#wheel.take(now, this.#limit.current)
      if (batch.length === 0) return
      try {
        const began = clock.now()
        await this.#limit.watch(() => this.#fireBatch(batch, leadership.shards(), now), wasTooSlow)
        this.#activity.fireCycle(clock.now() - began)
      } catch (error) {
        // Whether it happened is not known: put all back, FIRE refuses what has moved.
        for (const held of batch) this.#wheel.put(held)
        throw error
      }
    }
  }

  async #fireBatch(batch: WheelEntry[], led: readonly LedShard[], now: number): Promise<void> {
    await this.#fireSchedules(batch, led, now)
    for (const source of ['retries', 'submissions'] as const) await this.#fireReturns(source, batch, led, now)
  }

  async #fireSchedules(batch: WheelEntry[], led: readonly LedShard[], now: number): Promise<void> {
    const entries = batch.filter(({ entry }) => entry.source === 'schedules') as OccurrenceEntry[]
    if (entries.length === 0) return
    // A definition that cannot be planned is quarantined: its job is paused.
    const planned = await this.#options.isolation.each(
      'plan of a fire',
      entries,
      (held): Planned => ({ held, ...planSchedule(held.entry, now) }),
      (held) => scheduleRow(held.key),
    )
    const rowOf = ({ held, occurrences }: Planned) => scheduleRow(held.key, occurrences[0]?.executionId)
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
    for (const { held, occurrences } of planned) {
      const { pool, lane, tenant } = held.entry.job
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
    const entries = planned.map(({ held }) => held)
    const fired = await fire(this.#options.database, shardsOf(entries, led), moves, occurrences)
    this.#announce(fired.queued)
    this.#tell(planned, fired)
    if (fired.collisions.length > 0) {
      this.#options.logger.error({ executionIds: fired.collisions }, 'execution ids belong to other occurrences')
    }
    if (fired.tooOld.length > 0) {
      this.#options.logger.warn(
        { executionIds: fired.tooOld },
        'occurrences older than the kept history were passed over',
      )
    }
    const moved = new Set(fired.moved)
    const { source } = this.#options
    source.confirm(planned.filter(({ held }) => moved.has(held.key)).map(confirmationOf))
    for (const { held, move } of planned) {
      if (!moved.has(held.key)) this.#again(held)
      else if (move.nextDue !== null && move.nextDue <= source.claimedUntil) {
        // Objects are reused: an entry has one owner, and new objects would live just long enough to be promoted by V8.
        const { entry } = held
        entry.nominal = move.nextNominal!
        entry.due = move.nextDue
        entry.fires += move.fires
        held.at = move.nextDue
        held.tries = 0
        this.#wheel.put(held)
      }
    }
  }

  async #fireReturns(from: ReturnSource, batch: WheelEntry[], led: readonly LedShard[], now: number): Promise<void> {
    const entries = batch.filter(({ entry }) => entry.source === from) as ReturnEntry[]
    if (entries.length === 0) return
    const { isolation, tag, source } = this.#options
    const items = entries.map((held) => ({ held, tag: 0 }))
    type Tagged = (typeof items)[number]
    const rowOf = ({ held }: Tagged) => executionRow(from, held.key)
    const reserve = async (part: Tagged[]) => {
      const tags = await tag(part.map(({ held }) => held.entry))
      part.forEach((each, i) => {
        each.tag = tags[i]!
      })
    }
    const tagged = await isolation.run(`tags of ${from}`, items, reserve, rowOf)
    const move = async (part: Tagged[]) => {
      const named = part.map(({ held, tag: reserved }) => ({ executionId: held.key, tag: reserved }))
      const shards = shardsOf(
        part.map(({ held }) => held),
        led,
      )
      const { moved, queued } = await fireReturns(this.#options.database, from, shards, named)
      this.#announce(queued)
      this.#activity.batch('FIRE', part.length)
      const done = new Set(moved)
      const fired = part.flatMap(({ held }) => (done.has(held.key) ? [held.entry] : []))
      source.confirm(fired.map((entry) => ({ entry, next: null })))
      if (from === 'submissions') {
        const [follow, submitted] = [fired.filter(({ follows }) => follows), fired.filter(({ follows }) => !follows)]
        this.#options.onSubmitted?.(submitted)
        this.#activity.created('SUBMIT', submitted.map(workOf))
        this.#activity.created('TRIGGER', follow.map(workOf))
        if (follow.length > 0) this.#options.onFollowed?.(follow.length)
      }
      for (const { held } of part) if (!done.has(held.key) && held.at <= now) this.#again(held)
    }
    const ready = tagged.done.flatMap((each) => each.items)
    const fired = await isolation.run(`FIRE of ${from}`, ready, move, rowOf, this.#precheckOf(from))
    const stopped = tagged.stoppedBy ?? fired.stoppedBy
    if (stopped) throw stopped.error
  }

  #precheckOf(from: ReturnSource): Precheck<{ held: ReturnEntry }> | undefined {
    if (from === 'retries') return undefined
    const idOf = ({ held }: { held: ReturnEntry }) => held.key
    return { idOf, find: (items) => findUnusableSubmissions(this.#options.database, items.map(idOf)) }
  }

  #again(held: WheelEntry): void {
    if (held.tries + 1 >= maxTries) this.#options.source.giveBack([held.entry])
    else this.#wheel.put({ ...held, at: this.#options.clock.now() + againMs, tries: held.tries + 1 })
  }

  #tell(planned: Planned[], { moved, duplicates, fired, queued }: Fired): void {
    const activity = this.#activity
    const now = this.#options.clock.now()
    const all = moved.length === planned.length ? null : new Set(moved)
    const works: Work[] = []
    const latenessMs: number[] = []
    const skipped: Work[] = []
    for (const { held, occurrences } of planned) {
      if (all !== null && !all.has(held.key)) continue
      for (const { skip, due } of occurrences) {
        if (skip) skipped.push(held.entry.job)
        else {
          works.push(held.entry.job)
          latenessMs.push(Math.max(0, now - due))
        }
      }
    }
    activity.batch('FIRE', planned.length)
    activity.created('SCHEDULE', works)
    activity.fired(works, latenessMs)
    if (skipped.length > 0) activity.ended('SKIPPED', skipped)
    if (duplicates > 0) activity.duplicates('FIRE', duplicates)
    const ready = queued.reduce((sum, { count }) => sum + count, 0)
    if (fired > skipped.length + ready) void this.#tellOverlapping(planned)
  }

  /** FIRE does not say which executions it ended because of another one of their job. */
  async #tellOverlapping(planned: Planned[]): Promise<void> {
    const limited = planned.filter(({ held }) => held.entry.job.overlap !== 'ALLOW')
    const ids = limited.flatMap(({ occurrences }) => occurrences.flatMap((o) => (o.skip ? [] : [o.executionId])))
    const works = await readWorks(this.#options.database, ids).catch(() => [])
    const skipped = works.filter(({ reason }) => reason === 'OVERLAP')
    if (skipped.length > 0) this.#activity.ended('SKIPPED', skipped)
    const replaced = works.filter(({ reason }) => reason === 'REPLACED')
    if (replaced.length > 0) this.#activity.ended('CANCELLED', replaced)
  }

  #announce(queued: QueuedWork[]): void {
    for (const { pool, lane, tag } of queued) this.#options.signals.publish({ kind: 'READY', pool, lane, tag })
  }
}

function workOf({ tenant, pool, handler = other }: DueReturn): Work {
  return { tenant, pool, handler }
}

function confirmationOf({ held: { entry }, move: { nextNominal, nextDue, fires } }: Planned): Confirmation {
  if (nextDue === null) return { entry, next: null }
  return { entry, next: { nominal: nextNominal!, due: nextDue, fires: entry.fires + fires } }
}

function shardsOf(entries: WheelEntry[], led: readonly LedShard[]): LedShard[] {
  const wanted = new Set(entries.map(({ entry }) => entry.shard))
  return led.filter((s) => wanted.has(s.shard))
}
