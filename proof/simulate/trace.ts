/**
 * What the world saw happen in the database, statement by statement: every lease and its end, what jobs were over time,
 * who led which shard. Triggers tell it (NOTICE, in the answer of the statement itself); nothing else writes to those
 * tables. Two things are judged right here, because only here both sides are seen: what a leader writes, and what ends a
 * lease.
 */
import { shardOf } from '../../packages/server/src/domain/identity.ts'
import type { JobSpan, Lease, Violation } from '../history.ts'
import { readNumbers, readUuids } from './binary.ts'
import type { Statement } from './postgres.ts'
import type { World } from './world.ts'

/** Lays down the triggers. */
export const triggersSql = `
  create schema simulated;
  create function simulated.tell_lease() returns trigger language plpgsql as $$
  begin
    for i in 1..cardinality(new.ids) loop
      raise notice 'told %', json_build_object('table', 'leases', 'id', new.ids[i], 'fence', new.lease_id * 1024 + i - 1,
        'worker', new.worker_id);
    end loop;
    return null;
  end $$;
  create function simulated.tell_end() returns trigger language plpgsql as $$
  begin
    raise notice 'told %', json_build_object('table', 'executions', 'id', new.execution_id, 'fence', new.fence);
    return null;
  end $$;
  create function simulated.tell_jobs() returns trigger language plpgsql as $$
  begin
    raise notice 'told %', json_build_object('table', 'jobs', 'id', new.job_id, 'version', new.version, 'state', new.state,
      'overlap', new.overlap);
    return null;
  end $$;
  create function simulated.tell_shards() returns trigger language plpgsql as $$
  begin
    raise notice 'told %', json_build_object('table', 'shards', 'shard', new.shard, 'epoch', new.epoch);
    return null;
  end $$;
  create function simulated.tell_blocked() returns trigger language plpgsql as $$
  begin
    raise notice 'told %', json_build_object('table', 'blocked', 'id', new.execution_id);
    return null;
  end $$;
  create function simulated.tell_change() returns trigger language plpgsql as $$
  begin
    raise notice 'told %', json_build_object('table', tg_table_name);
    return null;
  end $$;
  create trigger told after insert or update on carillon.lanes for each statement execute function simulated.tell_change();
  create trigger told after insert on carillon.leases for each row execute function simulated.tell_lease();
  create trigger told after update on carillon.executions for each row when (new.fence is distinct from old.fence)
    execute function simulated.tell_end();
  create trigger told after insert or update of version, state on carillon.jobs for each row
    when (new.type in ('CRON', 'INTERVAL', 'AFTER')) execute function simulated.tell_jobs();
  create trigger told after insert on carillon.blocked for each row execute function simulated.tell_blocked();
  create trigger told after update on carillon.shards for each row execute function simulated.tell_shards();`

type Told =
  | { table: 'leases'; id: string; fence: number; worker: string }
  | { table: 'executions'; id: string; fence: number }
  | { table: 'jobs'; id: string; version: number; state: JobSpan['state']; overlap: JobSpan['overlap'] }
  | { table: 'shards'; shard: number; epoch: number }
  | { table: 'blocked'; id: string }
  | { table: 'lanes' }

export class Trace {
  readonly leases: Lease[] = []
  readonly spans: JobSpan[] = []
  readonly violations: Violation[] = []
  /** When something last fired or ended, and the longest time that nothing did. */
  longestGapMs = 0
  fired = 0
  #movedAt: number
  readonly #world: World
  /** By execution. */
  readonly #open = new Map<string, Lease>()
  readonly #present = new Map<string, JobSpan>()
  readonly #epochs = new Map<number, number>()
  /** Steps that were released, since they last began to wait. */
  readonly #released = new Set<string>()
  readonly #shardCount: number

  constructor(world: World, shardCount: number) {
    this.#world = world
    this.#shardCount = shardCount
    this.#movedAt = world.now
  }

  /** A statement has committed. */
  ran(statement: Statement, rows: Record<string, unknown>[]): void {
    const told = statement.told.map((text) => JSON.parse(text) as Told)
    this.#world.note(`${statement.name ?? 'unnamed'} ${rows.length} ${statement.told.join(' ')}`)
    if (statement.name === 'report') this.#judgeReport(statement, told)
    if (statement.name?.startsWith('fire')) this.#judgeFire(statement, rows)
    if (statement.name === 'advance') this.#judgeAdvance(statement, rows)
    for (const each of told) this.#note(each, statement.beganAt)
  }

  #note(told: Told, at: number): void {
    if (told.table === 'shards') this.#epochs.set(told.shard, told.epoch)
    else if (told.table === 'jobs') this.#noteJob(told, at)
    else if (told.table === 'blocked') this.#released.delete(told.id)
    else if (told.table === 'lanes') return
    else if (told.table === 'leases') {
      const lease = { executionId: told.id, fence: told.fence, workerId: told.worker, at, until: null }
      this.leases.push(lease)
      this.#open.set(told.id, lease)
    } else {
      const lease = this.#open.get(told.id)
      if (lease) lease.until = at
      this.#open.delete(told.id)
      this.#moved()
    }
  }

  #noteJob({ id: jobId, version, state, overlap }: Told & { table: 'jobs' }, at: number): void {
    const before = this.#present.get(jobId)
    if (before?.version === version && before.state === state) return
    if (before) before.until = at
    const span: JobSpan = { jobId, version, state, overlap, since: at, until: null }
    this.#present.set(jobId, span)
    this.spans.push(span)
  }

  /** A leader writes only what it leads at that moment: the epoch it names is the shard's. */
  #judgeFire({ name, values }: Statement, rows: Record<string, unknown>[]): void {
    const moved = (rows[0]?.moved as string[] | null | undefined) ?? []
    if (moved.length === 0) return
    this.#moved()
    if (name !== 'fire') return
    this.fired += Number(rows[0]!.fired)
    for (const jobId of moved) this.#judgeLeader('leaders-fire', jobId, values)
  }

  /** What waited for nothing more is taken up once, by the leader of its run's shard. */
  #judgeAdvance({ values }: Statement, rows: Record<string, unknown>[]): void {
    const ids = (name: string) => (rows[0]?.[name] as string[] | null | undefined) ?? []
    const runs = new Map(readUuids(values[2]).map((id, i) => [id, readUuids(values[3])[i]!]))
    const released = [...ids('moved'), ...ids('skipped'), ...ids('cancelled')]
    for (const id of released) {
      if (this.#released.has(id)) this.#violated('released-once', id, 'was released a second time')
      this.#released.add(id)
    }
    const all = [...released, ...ids('ended')]
    for (const runId of new Set(all.map((id) => runs.get(id)!))) this.#judgeLeader('leaders-advance', runId, values)
    if (all.length > 0) this.#moved()
  }

  /** `values`: shards and epochs first. `id`: of the job or run. */
  #judgeLeader(checker: string, id: string, values: Statement['values']): void {
    const shard = shardOf(id, this.#shardCount)
    const named = readNumbers(values[1])[readNumbers(values[0]).indexOf(shard)]
    const current = this.#epochs.get(shard)
    if (named === current) return
    this.#violated(checker, id, `was written with epoch ${named} of shard ${shard}, which is at ${current}`)
  }

  /** A lease ends by a report that names its own fence. */
  #judgeReport({ values }: Statement, told: Told[]): void {
    const fences = readNumbers(values[1])
    const named = new Set(readUuids(values[0]).map((id, i) => `${id} ${fences[i]}`))
    for (const each of told) {
      if (each.table !== 'executions') continue
      const held = this.#open.get(each.id)?.fence
      if (held === each.fence && named.has(`${each.id} ${held}`)) continue
      this.#violated('holders-report', each.id, `lost the lease of fence ${held} to a report of fence ${each.fence}`)
    }
  }

  #moved(): void {
    this.longestGapMs = Math.max(this.longestGapMs, this.#world.now - this.#movedAt)
    this.#movedAt = this.#world.now
  }

  #violated(checker: string, subject: string, problem: string): void {
    this.violations.push({ checker, subject, problem })
  }
}
