/**
 * Lets the engine do what is due at an instant, and says when everything has settled: nothing is due, nothing is ready that
 * could be leased, and every handler has ended or waits for time to pass. Nothing here waits for a poll: what the loops of
 * the engine would find in a while is done at once.
 */
import { CarillonError, priorities } from '@carillon/contract'
import { monotonicMs } from '../lib/clock.ts'
import type { Engine } from '../main.ts'
import { type DueWork, readDueWork } from './due-work.ts'
import type { Faults } from './faults.ts'
import type { RunLog } from './run-log.ts'

export interface SettlingOptions {
  engine: Engine
  log: RunLog
  faults: Faults
  /** The workers that live. */
  workerIds: readonly string[]
  /** Pools they serve, with their slots there. */
  slots: ReadonlyMap<string, number>
  /** Does what is due in the workers; answers when the next is. */
  tick: () => number
  settleMs: number
}

/** Poll interval while unannounced changes are under way. */
const lookAgainMs = 10

export class Settling {
  readonly #options: SettlingOptions

  constructor(options: SettlingOptions) {
    this.#options = options
  }

  /** Answers when something is due next; null: never. */
  async settle(): Promise<number | null> {
    const { engine, log, faults, tick, settleMs } = this.#options
    const since = monotonicMs()
    let previous: DueWork | null = null
    for (;;) {
      tick()
      await log.rest()
      const { version } = log
      await engine.byHand.pauseFailing()
      if (faults.next()) continue
      const work = await this.#look()
      if (log.version !== version) continue // it was at rest no more when the database answered
      const left = this.#left(work)
      if (left === null) return earlier(work.next, tick())
      if (monotonicMs() - Math.max(since, log.changedAt) > settleMs) throw stuck(left, settleMs)
      await this.#act(work, previous)
      previous = work
    }
  }

  #look(): Promise<DueWork> {
    const { engine, workerIds } = this.#options
    return readDueWork(engine.database, workerIds, engine.workerSessions.times.lostAfterMs)
  }

  /** What keeps it from having settled; null: nothing does. */
  #left({ due, ready, held }: DueWork): string | null {
    const { log } = this.#options
    if (due.length > 0) return `something is due (${due.join(', ')})`
    if (held.some((key) => !log.holds(key))) return 'a lease is on its way'
    const pool = ready.find((name) => this.#hasRoom(name))
    return pool === undefined ? null : `executions are ready in the pool ${pool}`
  }

  #hasRoom(pool: string): boolean {
    const { log, slots } = this.#options
    return log.heldIn(pool) < (slots.get(pool) ?? 0)
  }

  /** What was there at the previous look too may have been overlooked: it is looked for from the beginning. */
  async #act({ due, ready }: DueWork, previous: DueWork | null): Promise<void> {
    const { engine, log } = this.#options
    if (due.includes('FIRE')) {
      if (previous?.due.includes('FIRE')) engine.signals.publish({ kind: 'DUE', at: 0 })
      await engine.byHand.fire()
    }
    if (due.includes('ADMIT')) await engine.byHand.admit()
    if (due.includes('ADVANCE')) await engine.byHand.advance()
    if (due.includes('SWEEP')) await engine.byHand.sweep()
    if (due.includes('OPERATE')) await engine.byHand.operate()
    if (due.length > 0) return
    for (const pool of ready) {
      if (!previous?.ready.includes(pool)) continue
      for (const lane of priorities.keys()) engine.signals.publish({ kind: 'READY', pool, lane, tag: 0 })
    }
    await log.changed(lookAgainMs)
  }
}

/** Whole milliseconds, not before what is due then. */
function earlier(next: number | null, ofWorkers: number): number | null {
  const at = Math.min(next ?? Number.POSITIVE_INFINITY, Math.ceil(ofWorkers))
  return Number.isFinite(at) ? at : null
}

function stuck(left: string, settleMs: number): CarillonError {
  return new CarillonError('UNAVAILABLE', {
    message: `the test Carillon did not settle within ${settleMs} ms of real time: ${left}`,
    hint: 'See its log: give createTestCarillon a logger. On a very busy machine a larger settleMs may help',
  })
}
