/** The hot window of one installation in Redis, shard by shard: the scripts with their arguments and answers. */
import { createHash } from 'node:crypto'
import { isId } from '../domain/identity.ts'
import type { RedisConnection, Script } from '../redis/connection.ts'
import type { DueHead, DueSchedule } from '../store/schedules/read-due.ts'
import type { LedShard } from '../store/shards/claim.ts'
import type { DueOccurrence } from './port.ts'
import {
  claimScript,
  compareScript,
  completeScript,
  confirmScript,
  emptyScript,
  extendScript,
  leadScript,
  putScript,
} from './redis-scripts.ts'

/** Not compared for this long, a window is not used: a snapshot that was restored, an installation that stood still. */
const stateMs = 180_000
const entriesAtOnce = 500

/** What is known of a job: its next occurrence, or null if there is none. */
export interface Known {
  jobId: string
  schedule: DueSchedule | null
}

/** An occurrence that was fired, and what comes next. */
export interface Fired {
  entry: Pick<DueOccurrence, 'jobId' | 'version' | 'nominal' | 'shard' | 'job'>
  next: { nominal: number; due: number; fires: number } | null
  /** When the claim of the next one runs out; null: it is not claimed. */
  claimedUntil: number | null
}

export interface Range {
  from: number
  until: number
  /** With what is due at `until`. */
  whole: boolean
}

export type Led = { verdict: 'NONE' | 'SUPERSEDED' } | { verdict: 'LED'; generation: string; complete: boolean }
export type Claimed =
  | { verdict: 'INCOMPLETE' | 'SUPERSEDED' }
  | { verdict: 'OK'; entries: DueOccurrence[]; more: boolean; unreadable: string[] }

export class RedisWindow {
  readonly #redis: RedisConnection

  constructor(redis: RedisConnection) {
    this.#redis = redis
  }

  async lead({ shard, epoch }: LedShard): Promise<Led> {
    const [verdict, generation, complete] = (await this.#run(leadScript, shard, [epoch])) as string[]
    if (verdict !== 'LED') return { verdict: verdict as 'NONE' | 'SUPERSEDED' }
    return { verdict, generation: generation!, complete: complete === '1' }
  }

  /** False: a later epoch has it. */
  async empty({ shard, epoch }: LedShard, generation: string, until: number): Promise<boolean> {
    return (await this.#run(emptyScript, shard, [generation, epoch, until, stateMs])) === 1
  }

  async extend(shard: number, generation: string, until: number): Promise<boolean> {
    return (await this.#run(extendScript, shard, [generation, until])) === 1
  }

  async complete(shard: number, generation: string): Promise<boolean> {
    return (await this.#run(completeScript, shard, [generation, stateMs])) === 1
  }

  async claim(
    { shard, epoch }: LedShard,
    generation: string,
    { now, until, claimedUntil }: { now: number; until: number; claimedUntil: number },
  ): Promise<Claimed> {
    const args = [generation, epoch, now, until, entriesAtOnce, claimedUntil]
    const [verdict, seen, ...texts] = (await this.#run(claimScript, shard, args)) as [string, number, ...string[]]
    if (verdict !== 'OK') return { verdict: verdict as 'INCOMPLETE' | 'SUPERSEDED' }
    const entries: DueOccurrence[] = []
    const unreadable: string[] = []
    for (let i = 0; i < texts.length; i += 2) {
      const entry = entryOf(shard, texts[i]!, texts[i + 1]!)
      if (entry === null) unreadable.push(texts[i]!)
      else entries.push(entry)
    }
    return { verdict, entries, more: seen === entriesAtOnce, unreadable }
  }

  /** What PostgreSQL had at a time. `free`: they are not claimed any more. */
  async put(shard: number, known: readonly Known[], { at, free }: { at: number; free: boolean }): Promise<void> {
    for (let i = 0; i < known.length; i += entriesAtOnce) {
      const values = known.slice(i, i + entriesAtOnce).flatMap(({ jobId, schedule }) => {
        if (schedule === null) return [jobId, '', '', '', '', '']
        const { version, nominal, due, fires, job } = schedule
        return [jobId, version, nominal, due, fires, sealed(jobId, version, JSON.stringify(job))]
      })
      await this.#run(putScript, shard, [Math.floor(at), free ? 'FREE' : 'KEEP', ...values])
    }
  }

  /** Answers the jobs whose definition is not here. */
  async confirm(shard: number, fired: readonly Fired[], at: number): Promise<Set<string>> {
    const unknown = new Set<string>()
    for (let i = 0; i < fired.length; i += entriesAtOnce) {
      const values = fired.slice(i, i + entriesAtOnce).flatMap(({ entry, next, claimedUntil }) => {
        const { jobId, version, nominal } = entry
        return [jobId, version, nominal, next?.nominal ?? '', next?.due ?? '', next?.fires ?? '', claimedUntil ?? '']
      })
      const jobIds = (await this.#run(confirmScript, shard, [Math.floor(at), ...values])) as string[]
      for (const jobId of jobIds) unknown.add(jobId)
    }
    return unknown
  }

  /** Removes what PostgreSQL had not. Answers what to put; null: the window is another one. */
  async compare(
    shard: number,
    generation: string,
    { range, heads, at }: { range: Range; heads: readonly DueHead[]; at: number },
  ): Promise<string[] | null> {
    const until = range.whole ? range.until : `(${range.until}`
    const values = heads.flatMap((head) => [head.jobId, `${head.version} ${head.nominal} ${head.due} ${head.fires}`])
    const args = [generation, range.from, until, Math.floor(at), ...values]
    const [verdict, ...jobIds] = (await this.#run(compareScript, shard, args)) as string[]
    return verdict === 'OK' ? jobIds : null
  }

  #run(script: Script, shard: number, args: readonly (string | number)[]): Promise<unknown> {
    const part = `shard-${shard}`
    const keys = ['due', 'claimed', 'entries', 'state'].map((name) => this.#redis.key(part, name))
    return this.#redis.run(script, keys, args)
  }
}

/** Raised when what a fire is planned from changes: entries of another version of Carillon are then read from PostgreSQL again. */
const format = 1

/**
 * The definition behind a checksum. FIRE compares version and due time, not the definition, and a job is paused whose definition cannot
 * be planned: so an entry that no node of this format wrote must not be planned from.
 */
function sealed(jobId: string, version: number, definition: string): string {
  const sum = createHash('sha1').update(`${format} ${jobId} ${version} ${definition}`).digest('base64')
  return `${sum.slice(0, 12)} ${definition}`
}

/** Null: it cannot be used. */
function entryOf(shard: number, jobId: string, text: string): DueOccurrence | null {
  const found = /^(\d+) (-?\d+) (-?\d+) (\d+) \d+ (\S{12} (\{.*))$/s.exec(text)
  if (!found || !isId(jobId)) return null
  const [version, nominal, due, fires] = found.slice(1, 5).map(Number) as [number, number, number, number]
  if (sealed(jobId, version, found[6]!) !== found[5]) return null
  // A node of the version before writes no handler; only figures need it.
  const job: DueOccurrence['job'] = { handler: 'other', ...JSON.parse(found[6]!) }
  return { source: 'schedules', tenant: job.tenant, jobId, shard, version, nominal, due, fires, job }
}
