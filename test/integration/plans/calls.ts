/**
 * The operations that are measured, each for a number of rows, called as the engine calls them: positions from the
 * engine's own reckoning, only the shards of what is fired, reports in the order in which workers end.
 */
import type { LeasedExecution } from '@carillon/sdk'
import { occurrenceId, submissionId } from '../../../packages/server/src/domain/identity.ts'
import { laneTurn } from '../../../packages/server/src/queue/lane-turns.ts'
import { ReadyPosition } from '../../../packages/server/src/queue/ready-position.ts'
import type { Database } from '../../../packages/server/src/store/database.ts'
import { lease, leasedExecutions } from '../../../packages/server/src/store/executions/lease.ts'
import { type AttemptEnd, report } from '../../../packages/server/src/store/executions/report.ts'
import {
  fireReturns,
  type ReturnSource,
  readDueReturns,
} from '../../../packages/server/src/store/executions/returning.ts'
import { submit } from '../../../packages/server/src/store/executions/submit.ts'
import { fire } from '../../../packages/server/src/store/schedules/fire.ts'
import { readDueSchedules } from '../../../packages/server/src/store/schedules/read-due.ts'
import { readHeld } from '../../../packages/server/src/store/workers/held.ts'
import { dueFrom, firstTag, now, shardCount } from './load.ts'
import type { Meter, Reading } from './meter.ts'

const lane = 2
const workerId = '00000000-0000-8000-8000-000000000002'
const hourMs = 3_600_000

/** Every call is made and measured on rows that no call has touched before. */
export class Calls {
  #meter: Meter
  /** What was leased and not yet reported. */
  readonly #held: LeasedExecution[] = []
  #reached = firstTag
  #tag = firstTag * 2

  constructor(meter: Meter) {
    this.#meter = meter
  }

  /** Goes on with another connection. */
  continueOn(meter: Meter): void {
    this.#meter = meter
  }

  /** By name. The name is that of the function or of the table that is read. */
  readonly all: Record<string, (rows: number) => Promise<Reading>> = {
    'read schedules': (rows) => this.#readSchedules(rows),
    'read retries': (rows) => this.#readReturns('retries', rows),
    'read submissions': (rows) => this.#readReturns('submissions', rows),
    fire: (rows) => this.#fire(rows),
    fire_retries: (rows) => this.#fireReturns('retries', rows),
    fire_submissions: (rows) => this.#fireReturns('submissions', rows),
    submit: (rows) => this.#submit(rows),
    lease: (rows) => this.#lease(rows),
    read_held: (rows) => this.#readHeld(rows),
    report: (rows) => this.#report(rows),
  }

  /** One schedule, looked for from the very beginning, as once a minute. */
  readFirstSchedule(): Promise<Reading> {
    return this.#meter.read((database) => readDueSchedules(database, { ...window(1), from: 0 }))
  }

  async #readSchedules(rows: number): Promise<Reading> {
    const reading = await this.#meter.read((database) => readDueSchedules(database, window(rows)))
    return expectRows(reading, reading.result.length, rows)
  }

  async #readReturns(source: ReturnSource, rows: number): Promise<Reading> {
    const reading = await this.#meter.read((database) => readDueReturns(database, source, window(rows)))
    return expectRows(reading, reading.result.length, rows)
  }

  async #fire(rows: number): Promise<Reading> {
    const due = await readDueSchedules(this.#meter.database, window(rows))
    const moves = due.map(({ jobId, version, due, nominal }) => {
      const next = nominal + hourMs
      return { jobId, version, due, nextNominal: next, nextDue: next, fires: 1 }
    })
    const occurrences = due.map(({ jobId, nominal, due }) => {
      const executionId = occurrenceId(jobId, nominal)
      return { jobId, executionId, nominal, due, tag: this.#nextTag(), skip: null }
    })
    const reading = await this.#meter.read((database) => fire(database, shardsOf(due), moves, occurrences))
    return expectRows(reading, reading.result.fired, rows)
  }

  async #fireReturns(source: ReturnSource, rows: number): Promise<Reading> {
    const due = await readDueReturns(this.#meter.database, source, window(rows))
    const items = due.map(({ executionId }) => ({ executionId, tag: this.#nextTag() }))
    const reading = await this.#meter.read((database) => fireReturns(database, source, shardsOf(due), items))
    return expectRows(reading, reading.result.moved.length, rows)
  }

  async #submit(rows: number): Promise<Reading> {
    const items = Array.from({ length: rows }, (_, i) => ({
      executionId: submissionId(now),
      tenant: `tenant-${i % 100}`,
      name: null,
      pool: 'default',
      lane,
      handler: 'send-email',
      runAt: now,
      payload: '{"to": "somebody@example.org"}',
      policy: null,
      labels: null,
      traceparent: null,
    }))
    return this.#meter.read((database) =>
      submit(
        database,
        items,
        items.map(() => this.#nextTag()),
      ),
    )
  }

  async #lease(rows: number): Promise<Reading> {
    const from = [0, 0, 0, 0]
    from[lane] = positionAfter(this.#reached)
    const slots = Array.from({ length: rows }, () => ({ workerId, prefetched: false }))
    const reading = await this.#meter.read((database) =>
      lease(database, 'default', { from, since: [0, 0, 0, 0], turn: laneTurn }, slots),
    )
    const leased = reading.result.flatMap(({ executions }) => leasedExecutions(executions))
    this.#held.push(...leased)
    this.#reached = Math.max(...reading.result.map(({ reached }) => reached))
    return expectRows(reading, leased.length, rows)
  }

  /** As a heartbeat names what its worker holds. */
  async #readHeld(rows: number): Promise<Reading> {
    const named = this.#held.slice(0, rows)
    const reading = await this.#meter.read((database) => readHeld(database, named))
    return expectRows(reading, reading.result.size, rows)
  }

  async #report(rows: number): Promise<Reading> {
    // Executions end in another order than they began.
    const leases = this.#held
      .splice(0, rows)
      .sort((a, b) => (a.executionId.slice(-5) < b.executionId.slice(-5) ? -1 : 1))
    const ends = leases.map(
      ({ executionId, fence }): AttemptEnd => ({
        executionId,
        fence,
        outcome: 'SUCCEEDED',
        next: null,
        reason: null,
        retryAt: null,
        startedAt: now,
        result: '{"ok": true}',
        error: null,
        progress: null,
        log: null,
        actor: 'worker',
      }),
    )
    const reading = await this.#meter.read((database: Database) => report(database, ends))
    return expectRows(reading, reading.result.ended.length, rows)
  }

  #nextTag(): number {
    this.#tag += 1_000
    return this.#tag
  }
}

/** As the due source looks back for what came in late. */
function window(limit: number) {
  return { shards: Array.from({ length: shardCount }, (_, shard) => shard), from: dueFrom, until: now, limit }
}

/** The scheduler names only the shards of what it fires. */
function shardsOf(rows: readonly { shard: number }[]) {
  return [...new Set(rows.map(({ shard }) => shard))].map((shard) => ({ shard, epoch: 0 }))
}

/** Where a node reads that has leased up to this tag, a moment later. */
function positionAfter(tag: number): number {
  const position = new ReadyPosition()
  position.from(0)
  position.reached(tag, 0)
  return position.from(200)
}

function expectRows<T extends Reading>(reading: T, seen: number, expected: number): Reading {
  if (seen !== expected) throw new Error(`${expected} rows expected, ${seen} seen`)
  return { buffers: reading.buffers, ms: reading.ms }
}
