/**
 * Worker liveness in Redis: a key for each worker, which runs out after a while of silence. Registration stays in PostgreSQL, and so
 * does everything about workers attached to a node, which its keep-alive thread reports there.
 *
 * A heartbeat goes to Redis, and to `workers.seen_at` too if that was last written a quarter of `lostMs` ago. A worker that Redis has no
 * key of is looked up in PostgreSQL: so a key says that its worker was registered at the last write. While Redis is away, every
 * heartbeat goes to PostgreSQL.
 *
 * What must stay true: a worker that some node heard is live although Redis forgot it. `seen_at` may be behind by `staleMs`;
 * PostgreSQL is asked for that much longer a time, unless this node has watched Redis without an interruption, and without Redis
 * losing its keys, for all of the time asked about.
 */
import { newId } from '../domain/identity.ts'
import { monotonicMs } from '../lib/clock.ts'
import { defineScript, type RedisConnection } from '../redis/connection.ts'
import { readLive, seeWorkers } from '../store/workers/register.ts'
import { readSilent } from '../store/workers/silent.ts'
import type { WorkerLiveness } from './port.ts'
import { PostgresLiveness, type PostgresLivenessOptions } from './postgres.ts'

const workersAtOnce = 1_000
const part = 'workers'

/** Redis's own time in milliseconds, as `now`. */
const now = `
  local t = redis.call('time')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)`

/** A text that is gone when Redis has lost its keys; KEYS[1], and the text to begin with in ARGV[1]. */
const generation = `
  local generation = redis.call('get', KEYS[1])
  if not generation then
    generation = ARGV[1]
    redis.call('set', KEYS[1], generation)
  end
  local answers = { generation }`

/** Renews the keys that are there; ARGV[2] is how long they stay. Answers how old what PostgreSQL has is; -1: there is no key. */
const hearScript = defineScript(`${now}${generation}
  for i = 2, #KEYS do
    local written = string.match(redis.call('get', KEYS[i]) or '', '^%d+')
    answers[i] = -1
    if written then
      redis.call('set', KEYS[i], written .. ' ' .. string.format('%.0f', now), 'px', ARGV[2])
      answers[i] = now - written
    end
  end
  return answers`)

/** After a write of seen_at. ARGV[2]: as above; then for each key 1 if its worker is registered, else 0. */
const writtenScript = defineScript(`${now}${generation}
  local text = string.format('%.0f', now)
  for i = 2, #KEYS do
    if ARGV[i + 1] == '1' then
      redis.call('set', KEYS[i], text .. ' ' .. text, 'px', ARGV[2])
    else
      redis.call('del', KEYS[i])
    end
  end
  return answers`)

/** Answers for how long each was silent; -1: there is no key. */
const silenceScript = defineScript(`${now}${generation}
  for i = 2, #KEYS do
    local heard = string.match(redis.call('get', KEYS[i]) or '', '%d+$')
    answers[i] = heard and now - heard or -1
  end
  return answers`)

export interface RedisLivenessOptions extends PostgresLivenessOptions {
  redis: RedisConnection
  /** Called when PostgreSQL answered because Redis is away. */
  onFallback?: () => void
}

export class RedisLiveness implements WorkerLiveness {
  readonly #options: RedisLivenessOptions
  readonly #postgres: PostgresLiveness
  readonly #keptMs: number
  readonly #writeEveryMs: number
  readonly #staleMs: number
  #generation: string | null = null
  /** Since when this node has seen Redis keep that generation. */
  #keptSince = 0
  #unsubscribe = () => {}

  constructor(options: RedisLivenessOptions) {
    const { lostMs } = options
    this.#options = options
    this.#postgres = new PostgresLiveness(options)
    this.#keptMs = 2 * lostMs
    this.#writeEveryMs = lostMs / 4
    this.#staleMs = lostMs / 3
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#options.redis.onAway(() => {
      this.#generation = null
    })
    await this.#postgres.start()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    await this.#postgres.stop()
  }

  async heard(workerIds: string[]): Promise<Set<string>> {
    const { database } = this.#options
    const ages = await this.#each(hearScript, workerIds, () => [this.#keptMs])
    if (ages === null) return seeWorkers(database, workerIds)
    const isWritten = (age: number) => age >= 0 && age < this.#writeEveryMs
    const known = workerIds.filter((_, i) => isWritten(ages[i]!))
    const unwritten = workerIds.filter((_, i) => !isWritten(ages[i]!))
    if (unwritten.length === 0) return new Set(known)
    const registered = await seeWorkers(database, unwritten)
    await this.#each(writtenScript, unwritten, (ids) => [
      this.#keptMs,
      ...ids.map((id) => (registered.has(id) ? 1 : 0)),
    ])
    return new Set([...known, ...registered])
  }

  async live(workerIds: string[], withinMs: number): Promise<Set<string>> {
    const silences = await this.#each(silenceScript, workerIds, () => [])
    const isLive = (silence: number) => silence >= 0 && silence <= withinMs
    const live = silences === null ? [] : workerIds.filter((_, i) => isLive(silences[i]!))
    const known = new Set(live)
    const others = workerIds.filter((id) => !known.has(id))
    if (others.length === 0) return known
    const seenMs = withinMs + (this.#hasKept(withinMs) ? 0 : this.#staleMs)
    for (const id of await readLive(this.#options.database, others, seenMs)) known.add(id)
    return known
  }

  /** While Redis is away, workers are heard all the same: only what PostgreSQL could not record is a gap. */
  listeningMs(): Promise<number> {
    return this.#postgres.listeningMs()
  }

  /** Redis may have heard them since `seen_at` was written. */
  async forgetSilent(forMs: number): Promise<{ workerId: string; name: string }[]> {
    const { database } = this.#options
    const silent = await readSilent(database, forMs)
    if (silent.length === 0) return []
    const live = await this.live(silent, forMs)
    if (live.size > 0) await seeWorkers(database, [...live])
    const forgotten = await this.#postgres.forgetSilent(forMs)
    const ids = forgotten.map(({ workerId }) => workerId)
    await this.#each(writtenScript, ids, (each) => [this.#keptMs, ...each.map(() => 0)])
    return forgotten
  }

  attach(workerId: string): void {
    this.#postgres.attach(workerId)
  }

  detach(workerId: string): void {
    this.#postgres.detach(workerId)
  }

  /** Whether Redis has all heartbeats of this time that reached it. */
  #hasKept(withinMs: number): boolean {
    return this.#generation !== null && monotonicMs() - this.#keptSince >= withinMs
  }

  /** A number for each worker, in their order; null: Redis is away. */
  async #each(
    script: typeof hearScript,
    workerIds: string[],
    argsOf: (workerIds: string[]) => number[],
  ): Promise<number[] | null> {
    const { redis, onFallback } = this.#options
    const numbers: number[] = []
    try {
      for (let at = 0; at < workerIds.length; at += workersAtOnce) {
        const ids = workerIds.slice(at, at + workersAtOnce)
        const keys = [redis.key(part, 'generation'), ...ids.map((id) => redis.key(part, id))]
        const [kept, ...answers] = (await redis.run(script, keys, [newId(monotonicMs()), ...argsOf(ids)])) as string[]
        this.#saw(kept!)
        for (const answer of answers) numbers.push(Number(answer))
      }
      return numbers
    } catch {
      this.#generation = null
      onFallback?.()
      return null
    }
  }

  #saw(kept: string): void {
    if (kept === this.#generation) return
    this.#generation = kept
    this.#keptSince = monotonicMs()
  }
}
