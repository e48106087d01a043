/**
 * Keeps the hot window in Redis like PostgreSQL. The leader of a shard fills its window from nothing, compares it once a minute,
 * and looks into a part of it when there is reason to. It reads the heads of the coming hour from PostgreSQL, lets Redis say which
 * of them it has not, and reads the definitions of those alone.
 */
import { newId } from '../domain/identity.ts'
import type { Clock } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { scheduleRow } from '../store/quarantine/set-aside.ts'
import { type DueHead, readDueHeads, readSchedules } from '../store/schedules/read-due.ts'
import type { LedShard } from '../store/shards/claim.ts'
import { readInPages } from './paging.ts'
import type { Known, Range, RedisWindow } from './redis-window.ts'

/** How far ahead entries are kept. */
export const horizonMs = 3_600_000

export interface HydratorOptions {
  window: RedisWindow
  database: Database
  clock: Clock
  isolation: Isolation
}

/** A shard whose window can be compared: it has a generation. */
export type Filled = LedShard & { generation: string }

export class RedisHydrator {
  readonly #options: HydratorOptions

  constructor(options: HydratorOptions) {
    this.#options = options
  }

  /** Fills or compares the windows of these shards. Answers those that are complete now. */
  async fill(shards: readonly (LedShard & { generation: string | null })[]): Promise<Filled[]> {
    const { window, clock } = this.#options
    const until = Math.ceil(clock.now() + horizonMs)
    const begun = await Promise.all(
      shards.map(async ({ shard, epoch, generation }): Promise<Filled | null> => {
        if (generation !== null && (await window.extend(shard, generation, until))) return { shard, epoch, generation }
        const made = newId(clock.now())
        return (await window.empty({ shard, epoch }, made, until)) ? { shard, epoch, generation: made } : null
      }),
    )
    const kept = await this.compare(
      begun.filter((each) => each !== null),
      { from: 0, until },
    )
    const completed = await Promise.all(kept.map(({ shard, generation }) => window.complete(shard, generation)))
    return kept.filter((_, i) => completed[i])
  }

  /** Compares what is due in a range. Answers the shards whose window was there all the time. */
  async compare(shards: readonly Filled[], { from, until }: { from: number; until: number }): Promise<Filled[]> {
    const { database, clock } = this.#options
    let left = [...shards]
    if (left.length === 0) return left
    let at = 0
    await readInPages<DueHead>({
      from,
      until,
      read: (page) => {
        at = clock.now()
        return readDueHeads(database, { shards: left.map(({ shard }) => shard), ...page })
      },
      take: async (heads, range) => {
        left = await this.#comparePage(left, { heads, range, at })
        return left.length > 0
      },
    })
    return left
  }

  /** Puts what PostgreSQL has of these jobs now. `free`: they are not claimed any more. */
  async putCurrent(jobIds: readonly string[], { free }: { free: boolean }): Promise<void> {
    const { window, clock } = this.#options
    const at = clock.now()
    const known = await this.#read([...jobIds])
    await Promise.all([...known].map(([shard, each]) => window.put(shard, each, { at, free })))
  }

  async #comparePage(
    shards: readonly Filled[],
    { heads, range, at }: { heads: DueHead[]; range: Range; at: number },
  ): Promise<Filled[]> {
    const { window } = this.#options
    const byShard = new Map<number, DueHead[]>(shards.map(({ shard }) => [shard, []]))
    for (const head of heads) byShard.get(head.shard)?.push(head)
    const missing = await Promise.all(
      shards.map(({ shard, generation }) =>
        window.compare(shard, generation, { range, heads: byShard.get(shard)!, at }),
      ),
    )
    const jobIds = missing.flatMap((each) => each ?? [])
    if (jobIds.length > 0) await this.putCurrent(jobIds, { free: false })
    return shards.filter((_, i) => missing[i] !== null)
  }

  /** By shard. A row that cannot be read is set aside. */
  async #read(jobIds: string[]): Promise<Map<number, Known[]>> {
    const { database, isolation } = this.#options
    const { answers, stoppedBy } = await isolation.runRead('read of schedules', {
      all: () => readSchedules(database, jobIds),
      read: async () => jobIds,
      work: (part: string[]) => readSchedules(database, part),
      rowOf: scheduleRow,
    })
    if (stoppedBy) throw stoppedBy.error
    const byShard = new Map<number, Known[]>()
    for (const { shard, jobId, schedule } of answers.flat()) {
      const known = byShard.get(shard)
      if (known) known.push({ jobId, schedule })
      else byShard.set(shard, [{ jobId, schedule }])
    }
    return byShard
  }
}
