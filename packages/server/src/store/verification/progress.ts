/** How far the ledger has been compared with the schedules, and since when it can be. */
import { timeOf } from '../../domain/identity.ts'
import type { VerifiedFigures } from '../../observability/sampled-metrics.ts'
import type { Database } from '../database.ts'

/** What the ledger and the schedules can say. Milliseconds. */
export interface Horizon {
  /** Nothing is kept of what lies before. */
  floor: number
  /** Before this another tz database was used. Null: never. */
  tzChangedAt: number | null
}

export async function readHorizon(database: Database): Promise<Horizon> {
  const rows = await database.query<{ floor: string; tz_changed_at: number | null }>(
    'verify-read-horizon',
    'select n.floor_id floor, carillon.ms(n.tz_changed_at) tz_changed_at from carillon.installation n',
  )
  const { floor, tz_changed_at: tzChangedAt } = rows[0]!
  return { floor: timeOf(floor), tzChangedAt }
}

export interface Progress extends VerifiedFigures {
  pass: { to: number; position: string } | null
}

/** Null: not begun. */
export async function readProgress(database: Database): Promise<Progress | null> {
  const rows = await database.query<Omit<Progress, 'pass'> & { to: number | null; position: string | null }>(
    'verify-read-progress',
    `select carillon.ms(v.verified_until) "verifiedUntil", carillon.ms(v.pass_to) "to", v.position, v.occurrences, v.missed,
       v.doubled, v.stuck, v.wrong, v.lost, v.late, v.stuck_now "stuckNow" from carillon.verification v`,
  )
  if (!rows[0]) return null
  const { to, position, ...progress } = rows[0]
  return { ...progress, pass: to === null ? null : { to, position: position! } }
}

/** Starts the record: what was due before is left to `carillon verify`. */
export async function beginWatching(database: Database, from: number): Promise<void> {
  await database.query(
    null,
    'insert into carillon.verification (verified_until, since) values (carillon.at($1), carillon.at($1)) on conflict do nothing',
    [from],
  )
}

/** The earliest nominal time of all schedules. Null: none is to come. Index: schedules_due. */
export async function readOldestDue(database: Database): Promise<number | null> {
  const rows = await database.query<{ due: number | null }>(
    'verify-read-oldest-due',
    'select carillon.ms(s.due) due from carillon.schedules s where s.due is not null order by s.due limit 1',
  )
  return rows[0]?.due ?? null
}

/** For the audit. */
export interface Note {
  tenant: string | null
  action: string
  subject: string | null
  detail: object
}

export interface Step {
  /** Where the pass began and the step before ended (null: it begins). If that has changed, another node continues the pass. */
  from: number
  seen: string | null
  /** Null: the pass is over. */
  position: string | null
  to: number
  occurrences: number
  missed: number
  doubled: number
  stuck: number
  wrong: number
  lost: number
  late: number
  findings: Note[]
}

/**
 * Records a step and its findings, in the hour in which the pass ends. False: another node did. Locks: the row, then that of
 * the hour.
 */
export async function writeStep(database: Database, step: Step): Promise<boolean> {
  const rows = await database.query<{ written: boolean }>(
    'verify-write-step',
    `with moved as (
       update carillon.verification v
       set verified_until = case when $2::text is null then carillon.at($3) else v.verified_until end,
         pass_to = case when $2::text is not null then carillon.at($3) end, position = $2,
         occurrences = v.occurrences + $4, missed = v.missed + $5, doubled = v.doubled + $6, late = v.late + $7,
         stuck = v.stuck + $11, wrong = v.wrong + $12, lost = v.lost + $13
       where v.position is not distinct from $1::text and carillon.ms(v.verified_until) = $10 returning 1
     ), hourly as (
       insert into carillon.verified_hours as h (hour, occurrences, missed, doubled, late, stuck, wrong, lost)
       select date_trunc('hour', carillon.at($3 - 1), 'UTC'), $4, $5, $6, $7, $11, $12, $13 from moved
       on conflict (hour) do update set occurrences = h.occurrences + excluded.occurrences, missed = h.missed + excluded.missed,
         doubled = h.doubled + excluded.doubled, late = h.late + excluded.late, stuck = h.stuck + excluded.stuck,
         wrong = h.wrong + excluded.wrong, lost = h.lost + excluded.lost
     ), outdated as (
       delete from carillon.verified_hours h where h.hour < carillon.at($3) - interval '30 days' and exists (select from moved)
     ), noted as (
       insert into carillon.audit (at, tenant, actor, action, subject, detail)
       select coalesce($9, clock_timestamp()), f.tenant, 'verifier', f.action, f.subject, f.detail
       from jsonb_to_recordset($8) f(tenant text, action text, subject text, detail jsonb) where exists (select from moved))
     select exists (select from moved) written`,
    [
      ...[step.seen, step.position, step.to, step.occurrences, step.missed, step.doubled, step.late],
      ...[JSON.stringify(step.findings), database.now, step.from, step.stuck, step.wrong, step.lost],
    ],
  )
  return rows[0]!.written
}

/** Records how many executions are stuck now, and which are new. Locks: the row, then that of the hour. */
export async function writeStuck(
  database: Database,
  { now, more, notes }: { now: number; more: number; notes: Note[] },
): Promise<void> {
  await database.query(
    'verify-write-stuck',
    `with counted as (
       update carillon.verification v set stuck_now = $1, stuck = v.stuck + $2 where v.stuck_now <> $1 or $2 > 0
     ), hourly as (
       insert into carillon.verified_hours as h (hour, stuck)
       select date_trunc('hour', coalesce($4, clock_timestamp()), 'UTC'), $2 where $2 > 0
       on conflict (hour) do update set stuck = h.stuck + excluded.stuck)
     insert into carillon.audit (at, tenant, actor, action, subject, detail)
     select coalesce($4, clock_timestamp()), f.tenant, 'verifier', f.action, f.subject, f.detail
     from jsonb_to_recordset($3) f(tenant text, action text, subject text, detail jsonb)`,
    [now, more, JSON.stringify(notes), database.now],
  )
}
