/**
 * The shard leader's work for runs of graphs: it takes up what waits for nothing more. Of a step it reads the results of those it
 * depends on, decides whether it runs, and makes it ready with a tag of its own or skips it; of a run it writes how it ended.
 *
 * What must stay true: whatever ends a step has counted it down, in its own transaction, wherever it waits to be counted; this only reads
 * what has reached zero. ADVANCE looks again, under its locks, and writes nothing if this node leads the shard no more. So a node that
 * dies between two steps leaves nothing undone that the next leader does not find.
 */

import { decideStep, type Outcome, skipped, verdictOf } from '../domain/dag/advance.ts'
import type { Flow } from '../domain/fairness.ts'
import type { Leadership, LedShard } from '../leadership/port.ts'
import { bisect } from '../lib/bisect.ts'
import type { Clock } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import {
  type Advance,
  type Advanced,
  advance,
  holdBack,
  type Released,
  readOutcomes,
  readReleased,
} from '../store/dags/advance.ts'
import type { Database } from '../store/database.ts'
import { isOfData } from '../store/trouble.ts'
import { RunDefinitions } from './run-definitions.ts'
import type { EndedRun } from './run-ends.ts'
import type { RunFigures } from './run-figures.ts'

export interface AdvancerOptions {
  database: Database
  leadership: Leadership
  signals: Signals
  clock: Clock
  tag: (flows: readonly Flow[]) => Promise<number[]>
  pollMs: number
  logger: Logger
  /** Tells the execution that has started a run how that ended. False: not now. */
  tellEnd: (run: EndedRun) => Promise<boolean>
  /** Called after the commit with steps that ended so. */
  onEnded?: (state: 'SKIPPED' | 'CANCELLED', executionIds: string[]) => void
  figures?: Pick<RunFigures, 'advanced'>
}

const batchSize = 500

const nothing = { reason: null, inputs: null, error: null }
/** `waitedUntil`: when the last of those that the step depends on ended. */
type Decided = { item: Released; waitedUntil: number | null } & Omit<Advance, 'executionId' | 'runId' | 'tag' | 'fence'>

export class Advancer implements Service {
  readonly #options: AdvancerOptions
  readonly #definitions: RunDefinitions
  readonly #loop: Loop
  /** Shards in which something is known to wait for nothing more. Null: all. */
  #hinted: Set<number> | null = null
  #lookedAtAllAt = 0
  #unsubscribe: (() => void)[] = []

  constructor(options: AdvancerOptions) {
    this.#options = options
    this.#definitions = new RunDefinitions(options.database)
    const { pollMs: everyMs, logger } = options
    this.#loop = new Loop({ name: 'advance of runs', everyMs, logger, runOnce: () => this.#runHinted() })
  }

  async start(): Promise<void> {
    const { signals, leadership } = this.#options
    this.#unsubscribe = [
      leadership.onChange(() => this.#wake(null)),
      signals.subscribe((signal) => {
        if (signal.kind === 'RELEASED') this.#wake(signal.shards)
      }),
    ]
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await this.#loop.stop()
  }

  #wake(shards: readonly number[] | null): void {
    if (shards === null || this.#hinted === null) {
      this.#hinted = null
      this.#loop.wake()
      return
    }
    const before = this.#hinted.size
    for (const { shard } of this.#options.leadership.shards()) if (shards.includes(shard)) this.#hinted.add(shard)
    if (this.#hinted.size > before) this.#loop.wake()
  }

  /** What hints name; at every poll, all shards: a hint may be lost. */
  async #runHinted(): Promise<void> {
    const { clock, pollMs } = this.#options
    const hinted = this.#hinted
    this.#hinted = new Set()
    if (hinted !== null && hinted.size > 0 && clock.now() - this.#lookedAtAllAt < pollMs) return this.#run(hinted)
    await this.runOnce()
    this.#lookedAtAllAt = clock.now()
  }

  /** Until nothing is left to be taken up. */
  runOnce(): Promise<void> {
    return this.#run(null)
  }

  async #run(only: ReadonlySet<number> | null): Promise<void> {
    for (;;) {
      const led = this.#options.leadership.shards()
      const shards = only === null ? led : led.filter(({ shard }) => only.has(shard))
      if (shards.length === 0) return
      const found = await readReleased(this.#options.database, shards, batchSize)
      const released = await this.#tellEnds(found)
      if (released.length === 0) return
      const { done, bad, stoppedBy } = await bisect(released, {
        work: (part) => this.#advance(part, shards),
        isOwn: (error) => isOfData(error) || error instanceof UnknownStep,
      })
      await this.#holdBack(bad)
      if (stoppedBy) throw stoppedBy.error
      // What is released meanwhile wakes the loop again. A full batch may not have been all; what ADVANCE ended may have released more.
      const more = found.length === batchSize || done.some(({ answer }) => answer.released.length > 0)
      if (!more || !done.some(({ answer }) => isChange(answer))) return
    }
  }

  /** Executions that have started runs are told before the ends of those are written. Leaves out what cannot be told now. */
  async #tellEnds(found: Released[]): Promise<Released[]> {
    const told = await Promise.all(
      found.map(async (item) => {
        if (item.startedBy === null) return true
        return this.#options.tellEnd(item).catch((error: unknown) => {
          this.#options.logger.warn({ err: error, runId: item.runId }, 'the end of a run cannot be told; trying again')
          return false
        })
      }),
    )
    return told.every(Boolean) ? found : found.filter((_, at) => told[at])
  }

  async #advance(released: Released[], shards: readonly LedShard[]): Promise<Advanced> {
    const { database, tag, signals, onEnded, figures } = this.#options
    const decided = await this.#decide(released)
    const ready = decided.filter(({ verdict }) => verdict === 'READY' || verdict === 'WAIT')
    const tags = await tag(ready.map(({ item }) => item))
    const tagOf = new Map(ready.map(({ item }, i) => [item.executionId, tags[i]!]))
    const led = new Set(released.map(({ shard }) => shard))
    const advanced = await advance(
      database,
      shards.filter(({ shard }) => led.has(shard)),
      decided.map(({ item: { executionId, runId, startedFence }, waitedUntil: _, ...rest }) => ({
        executionId,
        runId,
        ...rest,
        fence: startedFence,
        tag: tagOf.get(executionId) ?? -1,
      })),
    )
    for (const { pool, lane, tag } of advanced.queued) signals.publish({ kind: 'READY', pool, lane, tag })
    for (const [state, ids] of [
      ['SKIPPED', advanced.skipped],
      ['CANCELLED', advanced.cancelled],
    ] as const) {
      if (ids.length === 0) continue
      onEnded?.(state, ids)
      signals.publish({ kind: 'ENDED', executionIds: ids })
    }
    this.#definitions.forget(advanced.ended)
    figures?.advanced(
      decided.map(({ item: { executionId }, reason, waitedUntil }) => ({ executionId, reason, waitedUntil })),
      advanced,
    )
    return advanced
  }

  async #decide(released: Released[]): Promise<Decided[]> {
    const ofSteps = released.filter(({ executionId, runId }) => executionId !== runId)
    const definitions = await this.#definitions.of(ofSteps.map(({ runId }) => runId))
    const stepOf = ({ runId, number }: Released) => {
      const step = number === null ? undefined : definitions.get(runId)?.steps[number]
      if (step === undefined) throw new UnknownStep(runId)
      return step
    }
    const willRun = ofSteps.filter((item) => verdictOf(stepOf(item).runIf, item) === 'READY')
    const wanted = new Set<string>()
    for (const item of willRun) {
      const { ids } = definitions.get(item.runId)!
      for (const place of stepOf(item).dependsOn) wanted.add(ids[place]!)
    }
    const outcomes = new Map<string, Outcome & { finishedAt: number | null }>()
    for (const { executionId, ...outcome } of await readOutcomes(this.#options.database, [...wanted])) {
      outcomes.set(executionId, outcome)
    }
    return released.map((item) => {
      if (item.executionId === item.runId) return { item, waitedUntil: null, verdict: 'END', ...nothing }
      const step = stepOf(item)
      const verdict = verdictOf(step.runIf, item)
      if (verdict !== 'READY') return { item, waitedUntil: null, ...skipped(verdict) }
      const { steps, ids } = definitions.get(item.runId)!
      const ended = step.dependsOn.map((place) => ({ name: steps[place]!.name, outcome: outcomes.get(ids[place]!) }))
      const decided = decideStep(step.when, ended)
      const waitedUntil = latest(ended.map(({ outcome }) => outcome?.finishedAt ?? null))
      return decided.verdict === 'READY' && step.waitFor !== null
        ? { item, waitedUntil, ...decided, verdict: 'WAIT' }
        : { item, waitedUntil, ...decided }
    })
  }

  /** One bad row never stops the others. Its run is resumed by a person when the cause is gone. */
  async #holdBack(bad: readonly { item: Released; error: unknown }[]): Promise<void> {
    if (bad.length === 0) return
    const { database, logger } = this.#options
    await holdBack(
      database,
      bad.map(({ item }) => item.executionId),
    )
    for (const { item, error } of bad.slice(0, 20)) {
      const { runId, executionId } = item
      logger.error(
        { err: error, runId, executionId },
        'a step cannot be made ready and is held back; resume its run to try again',
      )
    }
  }
}

function latest(times: readonly (number | null)[]): number | null {
  let found: number | null = null
  for (const time of times) if (time !== null && (found === null || time > found)) found = time
  return found
}

function isChange({ moved, skipped, cancelled, ended, released }: Advanced): boolean {
  return released.length + moved.length + skipped.length + cancelled.length + ended.length > 0
}

/** A row of `blocked` whose run or step is not there, or not so. */
class UnknownStep extends Error {
  constructor(runId: string) {
    super(`the run ${runId} has no such step`)
  }
}
