/**
 * Status reads from Redis, which keeps what was read from PostgreSQL.
 *
 * How old. What may still change is answered for `maxAgeMs` after it was read, by the installation's clock and not by when it was
 * written here: a write that was delayed brings nothing that is too old. SUCCEEDED never changes again and is kept for longer. The
 * other ends may be replayed or backfilled by a person, so they count as what may still change, and nothing has to be told of it.
 *
 * An end that was answered stays the answer. Whatever answers an end (`find`, `findCurrent`, `ended`) first writes it here, and what has
 * not ended never replaces an end: not while that is kept, which is for longer than an answer read before it may be used. A write
 * names the generation it found when it read; if Redis has lost its keys since, and an end among them, nothing is written.
 */
import { isEnd } from '../domain/execution-state.ts'
import { newId } from '../domain/identity.ts'
import { type Clock, monotonicMs } from '../lib/clock.ts'
import { defineScript, type RedisConnection } from '../redis/connection.ts'
import type { ExecutionKey, ExecutionRecord, StatusReads } from './port.ts'

/** Longer than an answer may be used, by more than clocks of nodes differ. */
const skewMs = 500
const finalKeptMs = 600_000
/** Larger ones are not kept: a payload and a result may have a quarter of a MiB each. */
const keptBytes = 16_384
const parts = 64

/** What is kept: when it was read and the record, or null for an end of which nothing else is known. */
interface Kept {
  readAt: number
  record: ExecutionRecord | null
}

/** KEYS: generation, status. ARGV: the generation to begin with. Answers both. */
const readScript = defineScript(`
  local generation = redis.call('get', KEYS[1])
  if not generation then
    generation = ARGV[1]
    redis.call('set', KEYS[1], generation)
  end
  return { generation, redis.call('get', KEYS[2]) }`)

/** ARGV: the generation that was read, how long to keep it, the text; it begins with E for an end and with U for others. */
const writeScript = defineScript(`
  if string.sub(ARGV[3], 1, 1) ~= 'E' then
    if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
    if redis.call('getrange', KEYS[2], 0, 0) == 'E' then return 0 end
  end
  redis.call('set', KEYS[2], ARGV[3], 'px', ARGV[2])
  return 1`)

export interface RedisStatusReadsOptions {
  redis: RedisConnection
  /** Answers what must be current. */
  postgres: StatusReads
  /**
   * Answers what is not kept here, and may wait for a few more such questions. [m] With 5,000 reads/s of which one in twenty is not
   * kept, half of PostgreSQL's CPU went into reading them one by one.
   */
  gathering: StatusReads
  clock: Clock
  /** How old an answer may be; at most a second. */
  maxAgeMs?: number
  /** Called when PostgreSQL answered because Redis is away. */
  onFallback?: () => void
  /** Called when Redis was asked. Hit: it had the answer. */
  onRead?: (isHit: boolean) => void
}

export class RedisStatusReads implements StatusReads {
  readonly maxAgeMs: number
  readonly #options: RedisStatusReadsOptions

  constructor(options: RedisStatusReadsOptions) {
    this.#options = options
    this.maxAgeMs = Math.min(options.maxAgeMs ?? 1_000, 1_000)
  }

  async find(key: ExecutionKey): Promise<ExecutionRecord | null> {
    const found = await this.#read(key)
    if (found !== null) this.#options.onRead?.(found.kept !== null)
    if (found?.kept) return found.kept.tenant === key.tenant ? found.kept : null
    const { postgres, gathering } = this.#options
    return this.#readTruth(found === null ? postgres : gathering, key, found?.generation ?? null)
  }

  findCurrent(key: ExecutionKey): Promise<ExecutionRecord | null> {
    return this.#readTruth(this.#options.postgres, key, null)
  }

  async ended(executionIds: string[]): Promise<Set<string>> {
    const { postgres, clock } = this.#options
    const readAt = clock.now()
    const ended = await postgres.ended(executionIds)
    await Promise.all([...ended].map((id) => this.#write(id, { readAt, record: null }, '')))
    return ended
  }

  /** What is kept and not too old; the generation, for a write. Null: Redis is away. */
  async #read({ executionId }: ExecutionKey): Promise<{ kept: ExecutionRecord | null; generation: string } | null> {
    const { redis, clock, onFallback } = this.#options
    try {
      const answer = await redis.run(readScript, this.#keysOf(executionId), [newId(monotonicMs())])
      const [generation, text] = answer as [string, string | null]
      const kept = text ? (JSON.parse(text.slice(1)) as Kept) : null
      const record = kept?.record ?? null
      if (record === null) return { kept: null, generation }
      const age = clock.now() - kept!.readAt
      return { kept: isFinal(record) || Math.abs(age) <= this.maxAgeMs ? record : null, generation }
    } catch {
      onFallback?.()
      return null
    }
  }

  /** `generation`: null keeps nothing but ends. */
  async #readTruth(truth: StatusReads, key: ExecutionKey, generation: string | null): Promise<ExecutionRecord | null> {
    const readAt = this.#options.clock.now()
    const record = await truth.findCurrent(key)
    if (record === null) return null
    if (isEnd(record.state)) await this.#write(key.executionId, { readAt, record }, '')
    else if (generation !== null) await this.#write(key.executionId, { readAt, record }, generation)
    return record
  }

  async #write(executionId: string, { readAt, record }: Kept, generation: string): Promise<void> {
    const { redis } = this.#options
    if (redis.isAway()) return
    const hasEnded = record === null || isEnd(record.state)
    const whole = JSON.stringify({ readAt, record })
    const isLarge = whole.length > keptBytes
    if (isLarge && !hasEnded) return
    const text = isLarge ? JSON.stringify({ readAt, record: null }) : whole
    const keptMs = record !== null && !isLarge && isFinal(record) ? finalKeptMs : this.maxAgeMs + skewMs
    const args = [generation, keptMs, `${hasEnded ? 'E' : 'U'}${text}`]
    await redis.run(writeScript, this.#keysOf(executionId), args).catch(() => {})
  }

  #keysOf(executionId: string): string[] {
    const { redis } = this.#options
    const part = `status-${Number.parseInt(executionId.slice(-2), 16) % parts}`
    return [redis.key(part, 'generation'), redis.key(part, executionId)]
  }
}

function isFinal({ state }: ExecutionRecord): boolean {
  return state === 'SUCCEEDED'
}
