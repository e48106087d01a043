/**
 * Carillon with one thing wrong: the comparison must find each. A part of an installed function is put in place of another;
 * if the text is not there (any more), the variant is refused, so that none is kept that breaks nothing.
 */
import type { Database } from '../../packages/server/src/store/database.ts'
import { brokenFollowers } from './broken-followers.ts'
import { brokenRuns } from './broken-runs.ts'

export interface Broken {
  name: string
  function: string
  text: string
  instead: string
}

export const broken: readonly Broken[] = [
  {
    ...{ name: 'an attempt is not counted', function: 'end_executions' },
    text: `case when i.fence is null or i.released = 1 then e.attempt else e.attempt + 1 end`,
    instead: 'e.attempt',
  },
  {
    ...{ name: 'a report ignores the cancel flag', function: 'report_others' },
    text: `when p.cancel_at is not null or p.outcome = 'CANCELLED' then 'CANCELLED'`,
    instead: `when p.outcome = 'CANCELLED' then 'CANCELLED'`,
  },
  {
    ...{ name: 'a report of a success ignores the place in the lease', function: 'report' },
    text: 'where v_leases.ids[v_leases.offsets[l.number] + (i.fence & 1023) + 1] = i.id',
    instead: 'where i.id = any (v_leases.ids)',
  },
  {
    ...{ name: 'a note is lost', function: 'mark_noted' },
    text: 'and not l.noted',
    instead: 'and false',
  },
  {
    ...{ name: 'a retry comes back at once', function: 'return_executions' },
    text: 'carillon.at(w.due), w.tenant',
    instead: 'p_now, w.tenant',
  },
  {
    ...{ name: 'what waits is not let go', function: 'end_executions' },
    text: 'if v_guarded is not null then',
    instead: 'if false then',
  },
  {
    ...{ name: 'a repeated report is refused', function: 'report_verdicts' },
    text: `else o.outcome end)) then 'ACCEPTED'`,
    instead: `else o.outcome end)) then 'REFUSED'`,
  },
  {
    ...{ name: 'a leader that was replaced goes on', function: 'hold_shards' },
    text: 'and s.epoch = i.epoch',
    instead: '',
  },
  {
    ...{ name: 'a version that was replaced fires', function: 'fire' },
    text: 's.version = i.version and ',
    instead: '',
  },
  {
    ...{ name: 'a retry may come back early', function: 'fire_retries' },
    text: 'carillon.ms(t.due) <= carillon.ms(v_now) and ',
    instead: '',
  },
  {
    ...{ name: 'a fence is given twice', function: 'lease_ready' },
    text: `nextval('carillon.lease_ids') from generate_series(v_first, v_groups[cardinality(v_groups)])`,
    instead: `coalesce((select max(l.lease_id) from carillon.leases l), 0) + g
      from generate_series(1, v_groups[cardinality(v_groups)] - v_first + 1) g`,
  },
  {
    ...{ name: 'what has expired is leased', function: 'lease_specially' },
    text: 'coalesce(r.expires_at <= p_now, false) expired',
    instead: 'false expired',
  },
  {
    ...{ name: 'a paused pool gives', function: 'lease_ready' },
    text: 'p.pool = p_pool and p.paused',
    instead: 'p.pool = p_pool and false',
  },
  {
    ...{ name: 'a cancel does not bring the end nearer', function: 'flag_running' },
    text: `least(coalesce(n.overdue_at, l.overdue_at), p_now + l.grace_sec * interval '1 second')`,
    instead: 'coalesce(n.overdue_at, l.overdue_at)',
  },
  {
    ...{ name: 'the second of QUEUE_ONE waits too', function: 'overlap_verdicts' },
    text: `v_job.policy = 'QUEUE_ONE' and not v_waiting then`,
    instead: `v_job.policy = 'QUEUE_ONE' then`,
  },
  {
    ...{ name: 'a replay has only the attempts that are left', function: 'replay' },
    text: 'attempt = 0, releases = 0, result = null',
    instead: 'result = null',
  },
  ...brokenRuns,
  ...brokenFollowers,
]

/** Puts the wrong text in place; answers what puts it right again. */
export async function breakIt(
  database: Database,
  { name, text, instead, ...rest }: Broken,
): Promise<() => Promise<void>> {
  const rows = await database.query<{ definition: string }>(
    null,
    `select pg_get_functiondef(p.oid) definition from pg_proc p
     where p.pronamespace = 'carillon'::regnamespace and p.proname = $1`,
    [rest.function],
  )
  const definition = rows[0]?.definition
  if (rows.length !== 1 || !definition?.includes(text)) {
    throw new Error(`"${name}" breaks nothing: carillon.${rest.function} does not contain ${text}`)
  }
  await database.query(null, definition.replaceAll(text, instead))
  return async () => {
    await database.query(null, definition)
  }
}
