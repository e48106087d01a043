/**
 * What this node has leased, so that a report, which names an execution only by its id and fence, is known by its handler without a
 * look into the database. A lease covers up to 1,024 executions of one pool and lane (docs/decisions/0045-leases.md); here it is one entry.
 *
 * The head of each execution is read from the text that goes to the worker: its members come in the order of
 * store/functions/births/bodies.sql, and what is read stands before the payload. Where one ends and the next begins is found by
 * `},{"fence":`. A payload may contain that, too: then there are more of them than executions, and all of it is parsed.
 */
import { defaults, type MinimalExecution } from '@carillon/contract'
import type { LeasedBatch, Work } from './activity.ts'

/** Entries kept. Beyond that the oldest are forgotten; what is reported of them is looked up. */
const mostLeases = 50_000
const mostNames = 10_000

interface LeaseEntry {
  works: Work[]
  leasedAt: number
  left: number
}

interface Heads {
  works: Work[]
  pickUpMs: number[]
}

export interface Leased {
  lane: number
  count: number
  /** JSON texts with commas between them. */
  executions: string
}

const mark = '},{"fence":'
const handlerMark = ',"handler":'
const timeMark = ',"scheduledFor":'
const dueMark = ',"dueAt":'
const attemptMark = ',"attempt":'

export class LeasedWork {
  readonly #leases = new Map<number, LeaseEntry>()
  /** By pool, by the text between `"handler":` and `"scheduledFor":`. */
  #known = new Map<string, Map<string, Work>>()
  #names = 0

  /** Remembers a lease and answers what was leased. */
  add(pool: string, leased: Leased, now: number): LeasedBatch {
    const { lane, count, executions: text } = leased
    const { works, pickUpMs } = this.#read(pool, text, { count, now }) ?? this.#parse(pool, text, now)
    this.#leases.set(leaseNumber(numberAt(text, '{"fence":'.length)), { works, leasedAt: now, left: count })
    if (this.#leases.size > mostLeases) this.#leases.delete(this.#leases.keys().next().value!)
    return { pool, lane, works, pickUpMs }
  }

  #read(pool: string, text: string, { count, now }: { count: number; now: number }): Heads | null {
    const works = new Array<Work>(count)
    const pickUpMs = new Array<number>(count)
    let start = 0
    for (let i = 0; i < count; i++) {
      const name = text.indexOf(handlerMark, start)
      const time = text.indexOf(timeMark, name)
      if (start < 0 || name < 0 || time < 0) return null
      works[i] = this.#workOf(pool, text.slice(name + 1, time))
      pickUpMs[i] = pickUpOf(text, time, now)
      start = text.indexOf(mark, time)
    }
    return start < 0 ? { works, pickUpMs } : null
  }

  #parse(pool: string, text: string, now: number): Heads {
    const executions: MinimalExecution[] = JSON.parse(`[${text}]`)
    return {
      works: executions.map(({ handler, tenant = defaults.tenant }) => ({ tenant, pool, handler })),
      pickUpMs: executions.map(({ attempt, scheduledFor, dueAt = scheduledFor }) =>
        attempt === undefined ? Math.max(0, now - dueAt) : -1,
      ),
    }
  }

  /** What was leased under this fence, and when; it is forgotten. Null: another node leased it. */
  take(fence: number): { work: Work; leasedAt: number } | null {
    const number = leaseNumber(fence)
    const lease = this.#leases.get(number)
    const work = lease?.works[fence % 1_024]
    if (lease === undefined || work === undefined) return null
    if (--lease.left <= 0) this.#leases.delete(number)
    return { work, leasedAt: lease.leasedAt }
  }

  #workOf(pool: string, text: string): Work {
    let ofPool = this.#known.get(pool)
    const known = ofPool?.get(text)
    if (known !== undefined) return known
    if (++this.#names > mostNames) {
      this.#known = new Map()
      this.#names = 1
      ofPool = undefined
    }
    if (ofPool === undefined) {
      ofPool = new Map()
      this.#known.set(pool, ofPool)
    }
    const { handler, tenant = defaults.tenant } = JSON.parse(`{${text}}`) as { handler: string; tenant?: string }
    const work = { tenant, pool, handler }
    // A copy: a part of a long text would keep all of it in memory.
    ofPool.set(` ${text}`.slice(1), work)
    return work
  }
}

function leaseNumber(fence: number): number {
  return Math.floor(fence / 1_024)
}

/** -1: not a first attempt; when that was due says nothing of this one. */
function pickUpOf(text: string, time: number, now: number): number {
  let at = time + timeMark.length
  let due = numberAt(text, at)
  at = endOfNumber(text, at)
  if (text.startsWith(dueMark, at)) {
    at += dueMark.length
    due = numberAt(text, at)
    at = endOfNumber(text, at)
  }
  return text.startsWith(attemptMark, at) ? -1 : Math.max(0, now - due)
}

function numberAt(text: string, at: number): number {
  let number = 0
  for (;;) {
    const digit = text.charCodeAt(at++) - 48
    if (!(digit >= 0 && digit <= 9)) return number
    number = number * 10 + digit
  }
}

function endOfNumber(text: string, at: number): number {
  for (;;) {
    const digit = text.charCodeAt(at) - 48
    if (!(digit >= 0 && digit <= 9)) return at
    at++
  }
}
