/**
 * Rows that no program of ours would write, for every table that a duty works through. Each begins as a row that could be right
 * and has some of its columns replaced; many name an execution or a job that does not exist. The same seed makes the same rows.
 */
import { newId } from '../../packages/server/src/domain/identity.ts'
import type { Random } from '../model/random.ts'

export const badTables = [
  'submissions',
  'schedules',
  'retries',
  'ready',
  'leases',
  'lease_notes',
  'completions',
  'waiting',
  'deadlines',
  'operations',
  'events',
  'jobs',
] as const
export type BadTable = (typeof badTables)[number]

export type Row = Record<string, unknown>

/** What rows may point at: executions and jobs of a tenant whose work does not count. */
export interface Surroundings {
  executions: string[]
  jobs: string[]
  pools: string[]
}

const hour = 3_600_000
const iso = (ms: number) => new Date(ms).toISOString()

export function badRow(table: BadTable, random: Random, around: Surroundings, now: number): Row {
  const row = likely[table](random, around, now)
  const columns = Object.keys(row)
  const changes = random.between(0, 3)
  for (let i = 0; i < changes; i++) {
    const column = random.of(columns)!
    if (!kept.has(column)) row[column] = absurd(column, random)
  }
  return row
}

/** Replaced, a row would only be refused: the tables know these words. */
const kept = new Set(['execution_id', 'operation_id', 'event_id', 'job_id', 'type', 'origin'])

const likely: Record<BadTable, (random: Random, around: Surroundings, now: number) => Row> = {
  submissions: (random, around, now) => ({
    execution_id: anId(random, around, now),
    ...{ shard: random.between(0, 63), tenant: tenantOf(random), name: null, pool: poolOf(random, around), lane: 2 },
    ...{ handler: 'work', run_at: iso(now - random.between(0, 5_000)), payload: '{}', policy: policyOf(random) },
    ...{ labels: null, traceparent: null },
  }),
  schedules: (random, around, now) => {
    const at = iso(Math.floor(now / 1_000) * 1_000 - random.between(0, 5) * 1_000)
    const job_id = random.chance(0.5) ? (random.of(around.jobs) ?? uuid(random)) : uuid(random)
    return {
      job_id,
      shard: random.between(0, 63),
      version: random.between(1, 3),
      nominal: at,
      due: at,
      fires: 0,
      live: null,
    }
  },
  retries: (random, around, now) => ({
    execution_id: anId(random, around, now),
    ...{ shard: random.between(0, 63), due: iso(now - random.between(0, 5_000)), tenant: tenantOf(random) },
    ...{ pool: poolOf(random, around), lane: 2, state: random.pick(['FAILED', 'TIMED_OUT', 'WORKER_LOST', 'PENDING']) },
  }),
  ready: (random, around, now) => ({
    pool: poolOf(random, around),
    ...{ lane: random.between(0, 3), tag: random.between(0, 100_000_000), execution_id: anId(random, around, now) },
    ...{
      body: random.pick<unknown>([null, null, 'no JSON', '"a":1']),
      timeout_sec: random.pick<unknown>([null, -1, 1]),
    },
  }),
  leases: (random, around, now) => ({
    ...{ lease_id: 1_000_000_000 + random.between(0, 1_000_000_000), worker_id: uuid(random) },
    ...{
      pool: poolOf(random, around),
      lane: 2,
      tag_low: random.between(0, 100),
      tag_high: random.between(100, 100_000_000),
    },
    ...{ leased_at: iso(now - hour), overdue_at: iso(now + random.between(-hour, hour)), grace_sec: 5 },
    ...{ heartbeat_timeout_sec: null, began: true, open: random.between(1, 3), noted: random.chance(0.2) },
    ids: Array.from({ length: random.between(1, 3) }, () => anId(random, around, now)),
  }),
  lease_notes: (random, around, now) => ({
    ...{ execution_id: anId(random, around, now), fence: random.between(1, 1_000_000_000), worker_id: uuid(random) },
    ...{ began: random.chance(0.5), overdue_at: iso(now - hour), heartbeat_at: iso(now - hour), progress: null },
    ...{ cancel_at: iso(now), cancel_reason: 'x', cancel_by: 'hand' },
  }),
  completions: (random, around, now) => ({
    ...{ execution_id: anId(random, around, now), fence: random.between(1, 1_000_000_000), result: '1' },
  }),
  waiting: (random, around, now) => ({
    execution_id: anId(random, around, now),
    key: `job:${random.chance(0.5) ? (random.of(around.jobs) ?? uuid(random)) : uuid(random)}`,
  }),
  deadlines: (random, around, now) => ({
    execution_id: anId(random, around, now),
    ...{ kind: random.pick(['START', 'FINISH']), due: iso(now - random.between(0, hour)) },
  }),
  operations: (random, _, now) => ({
    ...{
      operation_id: uuid(random),
      tenant: tenantOf(random),
      kind: random.pick(['CANCEL', 'RETRY', 'PURGE', 'BACKFILL', 'COPY']),
    },
    params: random.pick<unknown>([
      {},
      [],
      'x',
      5,
      { selection: 7 },
      { jobId: 'no', from: 'x', to: null, concurrency: 'many' },
    ]),
    ...{
      state: 'RUNNING',
      done: 0,
      skipped: 0,
      position: random.pick<unknown>([null, 'x', '-1', '1e999']),
      open: '{}',
    },
    ...{ rate_per_sec: random.pick<unknown>([null, 1, 1e-300, 'NaN', 'Infinity', -5]), fence: 0 },
    ...{ next_at: iso(now), created_by: 'hand', created_at: iso(now), updated_at: iso(now) },
  }),
  events: (random, around, now) => ({
    event_id: random.chance(0.01) ? 4_000_000_000_000_000 + random.between(0, 1e9) : -random.between(1, 1e9),
    ...{ at: iso(now), tenant: tenantOf(random), type: 'execution.fired', job_id: uuid(random) },
    ...{ execution_id: anId(random, around, now), detail: random.pick<unknown>([{}, [], 'x', { dueAt: 1e300 }]) },
  }),
  jobs: (random, _, now) => ({
    ...{ job_id: newId(now), version: 1, tenant: tenantOf(random), name: 'by hand', type: 'CRON' },
    cron: random.pick(['*/30 * * * *', 'nonsense', '', '99 99 * * *', '@never', '* * * * * * *', '0 0 31 2 *']),
    ...{
      timezone: random.pick(['UTC', 'Mars/Olympus', '', 'utc; drop table']),
      dst_gap: 'SHIFT',
      dst_overlap: 'FIRST',
    },
    ...{ start_at: null, end_at: null, max_fires: null, jitter_sec: 0, misfire: 'FIRE_ONCE', misfire_after_sec: 60 },
    ...{ max_catch_up: 1000, grace_sec: null, start_within_sec: null, deadline_sec: null, overlap: 'ALLOW' },
    ...{ pool: 'default', lane: 2, handler: 'work', payload: null, policy: policyOf(random), labels: null, key: null },
    ...{ managed_by: null, state: 'ACTIVE', created_at: iso(now), updated_at: iso(now) },
  }),
}

function anId(random: Random, around: Surroundings, now: number): string {
  const kind = random.next()
  if (kind < 0.3 && around.executions.length > 0) return random.of(around.executions)!
  if (kind < 0.6) return newId(now - random.between(0, 1_000))
  return uuid(random)
}

function uuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => random.between(0, 15).toString(16)).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function tenantOf(random: Random): string {
  return random.chance(0.05) ? 'x'.repeat(random.between(1, 9_000)) : `hand-${random.between(0, 50)}`
}

function poolOf(random: Random, { pools }: Surroundings): string {
  return random.chance(0.1) ? 'nobody-serves-this' : (random.of(pools) ?? 'default')
}

function policyOf(random: Random): unknown {
  return random.of<unknown>([
    ...[null, {}, [], 'x', 5, { deadlineSec: 'soon' }, { deadlineSec: 1e300 }, { startWithinSec: -1 }],
    ...[{ timeoutSec: 'long' }, { timeoutSec: 1e300 }, { cancelGraceSec: [] }, { cancelGraceSec: 5.5 }],
    ...[{ heartbeatTimeoutSec: {} }, { retryPolicy: 'often' }, { retryPolicy: { maxAttempts: 'x' } }, { target: 'x' }],
  ])
}

function absurd(column: string, random: Random): unknown {
  if (/_at$|^due$|^nominal$|^until$/.test(column)) {
    return random.pick<unknown>([
      'infinity',
      '-infinity',
      '294276-12-31',
      '1800-01-01',
      '0001-01-01 BC',
      '9999-12-31',
      null,
    ])
  }
  return random.of<unknown>([
    ...[null, '', 0, -1, 32_767, 2_147_483_647, 9_223_372_036_854_776_000n.toString(), 1e300, 'NaN'],
    ...['x', 'x'.repeat(5_000), '{}', '[]', [1, 2], { a: { b: [] } }, true, '\u0001', "'; --"],
  ])
}
