/**
 * The due source in Redis: the hot window of the coming hour, a sorted set for each shard, which survives a change of leader. Retries
 * and submissions are read from PostgreSQL as before: they are written by SQL functions of any node and are due soon.
 *
 * A shard is served from Redis while its window is complete and has the generation this leader knows. Otherwise, and while
 * Redis is away, PostgreSQL serves it, in the same claim, and the window is filled in the background. A leader that takes a shard over
 * uses the window as it finds it; one that was cut off from Redis compares first, because Redis may have come back with an older
 * state.
 *
 * What must stay true: whatever is wrong with the window costs lateness until the next comparison, a minute at most. FIRE compares
 * version and due time; what it refuses is given back, and read from PostgreSQL by the next claim.
 * See docs/decisions/0046-the-hot-window-in-redis.md.
 */
import { isId } from '../domain/identity.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../observability/logger.ts'
import type { RedisConnection } from '../redis/connection.ts'
import type { Database } from '../store/database.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import type { LedShard } from '../store/shards/claim.ts'
import type { ClaimRequest, Confirmation, DueEntry, DueSource } from './port.ts'
import { PostgresDueSource } from './postgres.ts'
import { RedisHydrator } from './redis-hydrator.ts'
import { type Fired, RedisWindow } from './redis-window.ts'

const compareEveryMs = 60_000
/** A leader that took a shard over compares this soon. */
const firstCompareMs = 5_000
/** Moves of one moment are read together. */
const gatherMs = 5

export interface RedisDueSourceOptions {
  redis: RedisConnection
  database: Database
  clock: Clock
  isolation: Isolation
  logger: Logger
  /** Called when PostgreSQL was read for schedules because a window could not be used. */
  onFallback?: () => void
}

interface Lead {
  epoch: number
  /** Of the window, as this leader knows it; null: it is to be filled. */
  generation: string | null
  /** False: to be compared before it is used. */
  proven: boolean
  comparedAt: number
}

export class RedisDueSource implements DueSource {
  readonly claimMs = 60_000
  readonly #options: RedisDueSourceOptions
  readonly #window: RedisWindow
  readonly #hydrator: RedisHydrator
  readonly #returns: PostgresDueSource
  /** Schedules of the shards that Redis does not serve; null: it serves all. */
  #schedules: PostgresDueSource | null = null
  readonly #leads = new Map<number, Lead>()
  #reached = Number.NEGATIVE_INFINITY
  #hint: number | null = null
  #givenBack = new Set<string>()
  #moved = new Set<string>()
  /** How often Redis went away. */
  #interruptions = 0
  #filling: Promise<void> | null = null
  readonly #underWay = new Set<Promise<void>>()

  constructor(options: RedisDueSourceOptions) {
    this.#options = options
    this.#window = new RedisWindow(options.redis)
    this.#hydrator = new RedisHydrator({ ...options, window: this.#window })
    this.#returns = new PostgresDueSource({ ...options, sources: ['retries', 'submissions'] })
    options.redis.onAway(() => {
      this.#interruptions++
      for (const lead of this.#leads.values()) lead.proven = false
    })
  }

  /** The larger one: what the caller keeps beyond what a version has handed out does no harm. */
  get claimedUntil(): number {
    return Math.max(this.#reached, this.#schedules?.claimedUntil ?? Number.NEGATIVE_INFINITY)
  }

  async claim(request: ClaimRequest): Promise<void> {
    if (request.shards.length === 0) return
    await Promise.all([this.#returns.claim(request), this.#claimSchedules(request)])
  }

  confirm(fired: readonly Confirmation[]): void {
    if (this.#options.redis.isAway()) return
    const now = this.#options.clock.now()
    const byShard = new Map<number, Fired[]>()
    for (const { entry, next } of fired) {
      if (entry.source !== 'schedules') continue
      const { jobId, version, nominal, shard, job } = entry
      const claimedUntil = next !== null && next.due <= this.claimedUntil ? Math.ceil(now + this.claimMs) : null
      const each = { entry: { jobId, version, nominal, shard, job }, next: next && { ...next }, claimedUntil }
      const known = byShard.get(shard)
      if (known) known.push(each)
      else byShard.set(shard, [each])
    }
    for (const [shard, each] of byShard) this.#later(() => this.#confirm(shard, each, now))
  }

  giveBack(entries: readonly DueEntry[]): void {
    this.#schedules?.giveBack(entries.filter(({ source }) => source === 'schedules'))
    this.#returns.giveBack(entries.filter(({ source }) => source !== 'schedules'))
    for (const entry of entries) if (entry.source === 'schedules') this.#givenBack.add(entry.jobId)
  }

  /** The next claim leads the window anew, which voids the claims. */
  dropped(shards: readonly number[]): void {
    this.#returns.dropped()
    this.#schedules?.dropped()
    for (const shard of shards) this.#leads.delete(shard)
  }

  hint(at: number): void {
    this.#returns.hint(at)
    this.#schedules?.hint(at)
    this.#hint = Math.min(this.#hint ?? at, at)
  }

  moved(jobIds: readonly string[]): void {
    if (this.#options.redis.isAway()) return
    const isFirst = this.#moved.size === 0
    for (const jobId of jobIds) this.#moved.add(jobId)
    if (isFirst && this.#moved.size > 0) setTimeout(() => this.#putMoved(), gatherMs)
  }

  /** Resolves when nothing is under way in the background. */
  async idle(): Promise<void> {
    while (this.#filling || this.#underWay.size > 0) await Promise.all([this.#filling, ...this.#underWay])
  }

  async #claimSchedules(request: ClaimRequest): Promise<void> {
    const { redis, logger, onFallback } = this.#options
    const { shards } = request
    const led = new Set(shards.map(({ shard }) => shard))
    for (const shard of this.#leads.keys()) if (!led.has(shard)) this.#leads.delete(shard)
    const served = new Set<number>()
    if (!redis.isAway()) {
      try {
        await this.#lookAgain(request)
        const done = await Promise.all(shards.map((shard) => this.#claimShard(shard, request)))
        for (const [i, { shard }] of shards.entries()) if (done[i]) served.add(shard)
      } catch (error) {
        logger.debug({ err: error }, 'what is due is read from PostgreSQL')
        served.clear()
      }
      this.#fill(shards)
    }
    const others = shards.filter(({ shard }) => !served.has(shard))
    if (others.length === 0) {
      this.#schedules = null
      this.#reached = Math.max(this.#reached, request.until)
      return
    }
    onFallback?.()
    // A new one reads everything that is due: what the last one had read is long ago.
    this.#schedules ??= new PostgresDueSource({ ...this.#options, sources: ['schedules'] })
    await this.#schedules.claim({ ...request, shards: others })
  }

  /** False: PostgreSQL has to serve it. */
  async #claimShard(led: LedShard, { until, take }: ClaimRequest): Promise<boolean> {
    const { clock } = this.#options
    const lead = await this.#leadOf(led)
    if (!lead?.proven || lead.generation === null) return false
    for (;;) {
      const now = clock.now()
      const times = { now: Math.floor(now), until, claimedUntil: Math.ceil(now + this.claimMs) }
      const claimed = await this.#window.claim(led, lead.generation, times)
      if (claimed.verdict !== 'OK') {
        if (claimed.verdict === 'SUPERSEDED') this.#leads.delete(led.shard)
        else lead.generation = null
        return false
      }
      for (const jobId of claimed.unreadable) await this.#replace(led.shard, jobId)
      if (!take(claimed.entries) || !claimed.more) return true
    }
  }

  async #leadOf(led: LedShard): Promise<Lead | null> {
    const { shard, epoch } = led
    const known = this.#leads.get(shard)
    if (known?.epoch === epoch) return known
    const answer = await this.#window.lead(led)
    if (answer.verdict === 'SUPERSEDED') return null
    const isComplete = answer.verdict === 'LED' && answer.complete
    const lead: Lead = {
      ...{ epoch, generation: isComplete ? answer.generation : null, proven: isComplete },
      comparedAt: this.#options.clock.now() - compareEveryMs + firstCompareMs,
    }
    this.#leads.set(shard, lead)
    return lead
  }

  /** What was given back, and what a hint speaks of, as PostgreSQL has it. */
  async #lookAgain({ shards, until }: ClaimRequest): Promise<void> {
    const [givenBack, hint] = [this.#givenBack, this.#hint]
    this.#givenBack = new Set()
    this.#hint = null
    try {
      if (givenBack.size > 0) await this.#hydrator.putCurrent([...givenBack], { free: true })
      if (hint === null || hint > until) return
      const filled = shards.flatMap((led) => {
        const lead = this.#leads.get(led.shard)
        return lead?.epoch === led.epoch && lead.generation !== null ? [{ ...led, generation: lead.generation }] : []
      })
      await this.#hydrator.compare(filled, { from: Math.floor(hint), until })
    } catch (error) {
      for (const jobId of givenBack) this.#givenBack.add(jobId)
      if (hint !== null) this.hint(hint)
      throw error
    }
  }

  async #replace(shard: number, jobId: string): Promise<void> {
    if (isId(jobId)) this.#givenBack.add(jobId)
    else await this.#window.put(shard, [{ jobId, schedule: null }], { at: this.#options.clock.now(), free: true })
  }

  /** Fills and compares in the background what is to be. */
  #fill(shards: readonly LedShard[]): void {
    if (this.#filling) return
    const now = this.#options.clock.now()
    const wanted = shards.flatMap((led) => {
      const lead = this.#leads.get(led.shard)
      if (lead?.epoch !== led.epoch) return []
      const isFine = lead.generation !== null && lead.proven && now - lead.comparedAt < compareEveryMs
      return isFine ? [] : [{ led, lead }]
    })
    if (wanted.length === 0) return
    const work = async () => {
      const asked = wanted.map(({ led, lead }) => ({ ...led, generation: lead.generation }))
      const interruptions = this.#interruptions
      const filled = await this.#hydrator.fill(asked)
      // What was compared before an interruption may not be what is there after it.
      if (interruptions !== this.#interruptions) return
      for (const { led, lead } of wanted) {
        const done = filled.find(({ shard }) => shard === led.shard)
        lead.generation = done?.generation ?? null
        lead.proven = done !== undefined
        if (done) lead.comparedAt = now
      }
    }
    this.#filling = work()
      .catch((error) => this.#options.logger.debug({ err: error }, 'the hot window was not filled'))
      .finally(() => {
        this.#filling = null
      })
  }

  async #confirm(shard: number, fired: Fired[], at: number): Promise<void> {
    const lead = this.#leads.get(shard)
    const isFilled = lead?.proven === true && lead.generation !== null
    // While the window is filled, with definitions and in one step: the hydrator may be about to put what was read before FIRE.
    const unknown = isFilled ? await this.#window.confirm(shard, fired, at) : null
    const known = fired.flatMap(({ entry, next }) => {
      const { jobId, version, job } = entry
      if (unknown?.has(jobId) === false) return []
      return [{ jobId, schedule: next && { jobId, shard, version, job, ...next } }]
    })
    if (known.length > 0) await this.#window.put(shard, known, { at, free: false })
  }

  #putMoved(): void {
    const jobIds = [...this.#moved]
    this.#moved.clear()
    this.#later(() => this.#hydrator.putCurrent(jobIds, { free: false }))
  }

  /** Not waited for. What is lost is found by the next comparison. */
  #later(work: () => Promise<void>): void {
    const done = work()
      .catch((error) => this.#options.logger.debug({ err: error }, 'the hot window was not told of a move'))
      .finally(() => this.#underWay.delete(done))
    this.#underWay.add(done)
  }
}
