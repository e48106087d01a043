/** The life of one job in memory, by the real rules: what FIRE plans is written down, what changes make of it too. */
import type { JobInput } from '@carillon/contract'
import { type Moment, paused, redefined, removed, resumed } from '../../../packages/server/src/jobs/change.ts'
import { defineJob } from '../../../packages/server/src/jobs/define.ts'
import { bornRecord, newJob } from '../../../packages/server/src/jobs/new-job.ts'
import { planSchedule } from '../../../packages/server/src/scheduling/plan.ts'
import type { JobChange } from '../../../packages/server/src/store/jobs/change.ts'
import type { JobDefinition } from '../../../packages/server/src/store/jobs/definition.ts'
import type { JobRecord } from '../../../packages/server/src/store/rows.ts'
import type { KnownSpan, VerifiedJob } from '../../../packages/server/src/store/verification/read-jobs.ts'
import type { LedgerEntry, Reach } from '../../../packages/server/src/store/verification/read-occurrences.ts'
import { expectedOf } from '../../../packages/server/src/verification/expected.ts'
import { judge } from '../../../packages/server/src/verification/judge.ts'
import { addTally, emptyTally, type Tally } from '../../../packages/server/src/verification/tally.ts'

const listed = 1_000

export class PureHistory {
  now: number
  readonly rows: LedgerEntry[] = []
  readonly #spans: KnownSpan[] = []
  readonly #definitions: Map<number, JobDefinition>
  #job: JobRecord

  constructor(input: JobInput, startAt: number) {
    this.now = startAt
    this.#job = bornRecord(newJob(input, { tenant: 'acme', payload: null, now: startAt }))
    this.#definitions = new Map([[1, this.#job.definition]])
  }

  get jobId(): string {
    return this.#job.definition.jobId
  }

  definitionOf(version: number): JobDefinition {
    return this.#definitions.get(version)!
  }

  get state(): string {
    return this.#job.state
  }

  /** Fires what is due. Of a job that forbids overlap every `overlapping`th is skipped, as if one were still running. */
  fire(overlapping: number): void {
    for (let job = this.#job; job.due !== null && job.due <= this.now; job = this.#job) {
      const { definition, version, nominal, due, fires, shard } = job
      const row = { jobId: definition.jobId, shard, version, nominal: nominal!, due, fires, job: definition }
      const { move, occurrences } = planSchedule(row, this.now)
      occurrences.forEach(({ executionId: id, nominal, due: dueAt, skip }, i) => {
        const overlaps = definition.overlap === 'FORBID' && i % overlapping === overlapping - 1
        const reason = skip?.reason ?? (overlaps ? 'OVERLAP' : null)
        const state = reason === null ? null : 'SKIPPED'
        const entry = { id, nominal, origin: 'SCHEDULE', state, reason, version, dueAt, firedAt: this.now }
        this.rows.push({ ...entry, last: skip?.last ?? null, count: skip?.count ?? null })
      })
      const ended = move.nextDue === null
      if (ended) this.#end(move.nextNominal, null, this.now)
      this.#job = {
        ...job,
        ...{ nominal: ended ? null : move.nextNominal, due: move.nextDue, fires: fires + move.fires },
        ...(ended && { state: 'COMPLETED', updatedAt: this.now }),
      }
    }
  }

  pause(): void {
    if (this.state === 'ACTIVE') this.#change(paused(this.#job))
  }

  resume(): void {
    if (this.state === 'PAUSED') this.#change(resumed(this.#job, this.#moment))
  }

  remove(): void {
    if (this.state !== 'DELETED') this.#change(removed(this.#job, this.#moment))
  }

  edit(input: JobInput): void {
    if (this.state === 'DELETED') return
    const { jobId, anchor } = this.#job.definition
    const definition = defineJob(input, { jobId, tenant: 'acme', payload: null, now: this.now, anchor })
    if (definition.maxFires !== null) definition.maxFires += this.#job.fires
    this.#change(redefined(this.#job, definition, null, this.#moment))
  }

  get #moment(): Moment {
    return { now: this.now, floor: 0 }
  }

  #change(change: JobChange | null): void {
    if (change === null) return
    const { state, nominal, due, skipped, definition, computedAt = this.now } = change
    this.#end(this.#job.nominal, nominal, computedAt)
    for (const { id, nominal, due: dueAt, reason, last, count } of skipped) {
      const { version } = this.#job
      const skip = { state: 'SKIPPED', reason, last, count, version }
      this.rows.push({ id, nominal, origin: 'SCHEDULE', ...skip, dueAt, firedAt: this.now })
    }
    const version = this.#job.version + (definition ? 1 : 0)
    if (definition) this.#definitions.set(version, definition)
    const changed = definition !== null || state !== this.#job.state
    const updatedAt = changed ? this.now : this.#job.updatedAt
    this.#job = {
      ...this.#job,
      definition: definition ?? this.#job.definition,
      version,
      state,
      nominal,
      due,
      updatedAt,
    }
  }

  #end(stood: number | null, stands: number | null, computedAt: number): void {
    const { version, state, updatedAt: since } = this.#job
    this.#spans.push({ version, state, since, until: this.now, computedAt, stood, stands })
  }

  /** In pieces of at most `limit` occurrences. */
  verify(rows: readonly LedgerEntry[], range: { from: number; to: number }, limit = 1_000_000): Tally {
    const { definition, version, state, nominal, createdAt, updatedAt } = this.#job
    const { jobId, tenant } = definition
    const before = this.#spans.findLastIndex(({ until }) => until < range.from)
    const spans = this.#spans.slice(Math.max(0, before))
    const job: VerifiedJob = {
      ...{ jobId, tenant, version, state, nominal, createdAt, updatedAt, definitions: this.#definitions, spans },
    }
    const sorted = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const tally = emptyTally()
    for (let from: number | null = 0; from !== null; ) {
      const check = { ...range, now: this.now, floor: 0, listed }
      const looked = expectedOf(job, check, { from, before: Number.POSITIVE_INFINITY }, limit)
      const { low, high } = looked
      const options = { lateAfterMs: 1_000, listed, floor: 0, tzChangedAt: null }
      const inside = sorted.filter(({ nominal }) => nominal >= low && nominal < high)
      addTally(tally, judge(job, looked, inside, reachBefore(sorted, low), options), listed)
      from = looked.next
    }
    return tally
  }
}

function reachBefore(rows: readonly LedgerEntry[], low: number): Reach | null {
  const row = rows.findLast(({ nominal, last }) => nominal < low && last !== null)
  return row ? { ...row, last: row.last!, reason: row.reason! } : null
}
