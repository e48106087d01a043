-- Rows that cannot be processed, and what no row may be. Nodes of the version before go on working beside it.
--
-- A row whose own data makes a call fail is found by bisecting the batch, leaves its table and is kept here with the error,
-- so that the rest of the batch goes on: docs/decisions/0032-quarantine.md.
--
-- Lock order: quarantine after everything in the heads of 0001 to 0003.

create table carillon.quarantine (
  quarantine_id bigint generated always as identity primary key,
  -- The table it stood in, and its primary key there.
  source text collate "C" not null,
  key jsonb not null,
  -- Null: the row does not say, and no ledger row does.
  tenant text collate "C",
  execution_id uuid,
  job_id uuid,
  -- Which call failed, and how: an SQLSTATE, or the name of the node's own error.
  call text not null,
  code text not null,
  message text not null,
  at timestamptz not null default clock_timestamp(),
  -- The row as it was: `release` puts it back. Null: the row stayed where it was (a schedule, which no longer has a due time).
  content jsonb
);
create index quarantine_execution on carillon.quarantine (execution_id) where execution_id is not null;
create index quarantine_tenant on carillon.quarantine (tenant, quarantine_id);

-- Whether LEASE and FIRE can read what they need of a policy.
create function carillon.is_usable_policy(p_policy jsonb) returns boolean
language sql immutable parallel safe
return p_policy is null or (select coalesce(bool_and(case jsonb_typeof(f.value) when 'null' then true
    when 'number' then (f.value #>> '{}')::numeric between 0 and 2147483647 else false end), true)
  from jsonb_each(case when jsonb_typeof(p_policy) = 'object' then p_policy else '{}' end) f
  where f.key in ('timeoutSec', 'cancelGraceSec', 'heartbeatTimeoutSec', 'deadlineSec', 'startWithinSec'));

-- What could never be right is refused where it is written. NOT VALID: rows that are there are not read; one that breaks a rule
-- is set aside when it is met. [m] See docs/decisions/0032-quarantine.md for what the rules cost.
--
-- Times: PostgreSQL knows infinity and the year 294276; JavaScript and the ids of executions do not.
alter table carillon.submissions
  add constraint submissions_run_at check (run_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00') not valid,
  add constraint submissions_lane check (lane between 0 and 3) not valid,
  add constraint submissions_policy check (carillon.is_usable_policy(policy)) not valid,
  add constraint submissions_payload check (payload::json is not null or payload is null) not valid;
alter table carillon.retries
  add constraint retries_due check (due between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00') not valid,
  add constraint retries_lane check (lane between 0 and 3) not valid;
-- The largest tag leased is where new work of the lane begins: 2^52 leaves room for 6.8e10 executions after it.
alter table carillon.ready
  add constraint ready_lane check (lane between 0 and 3) not valid,
  add constraint ready_tag check (tag between 0 and 4503599627370496) not valid;
alter table carillon.flows
  add constraint flows_finish check (finish between 0 and 9007199254740991 and cost between 0 and 9007199254740991) not valid;
alter table carillon.lanes add constraint lanes_virtual_time check (virtual_time between 0 and 9007199254740991) not valid;
alter table carillon.running
  add constraint running_fence check (fence between 1 and 9007199254740991) not valid,
  add constraint running_times check (leased_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00'
    and overdue_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00'
    and (heartbeat_at is null or heartbeat_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00')
    and (cancel_at is null or cancel_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00')) not valid,
  -- It goes to workers as it is, inside the JSON of all that they are given.
  add constraint running_json check ((progress is null or progress::json is not null)
    and (result is null or result::json is not null)) not valid,
  add constraint running_limits check (grace_sec >= 0 and attempt between 0 and 2147483646
    and (heartbeat_timeout_sec is null or heartbeat_timeout_sec >= 1)) not valid;
alter table carillon.waiting
  add constraint waiting_key check (key ~ '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') not valid;
alter table carillon.deadlines
  add constraint deadlines_due check (due between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00') not valid;
alter table carillon.schedules
  add constraint schedules_times check ((due is null or due between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00')
    and (nominal is null or nominal between '1970-01-01 00:00:00+00' and '10000-01-01 00:00:00+00')) not valid,
  add constraint schedules_fires check (fires between 0 and 9007199254740991) not valid;
alter table carillon.events
  add constraint events_at check (at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00') not valid;
alter table carillon.operations
  add constraint operations_times check (next_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00'
    and created_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00') not valid;
alter table carillon.executions
  add constraint executions_progress check (progress is null or progress::json is not null) not valid,
  add constraint executions_times check (
    scheduled_for between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00'
    and due_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00'
    and fired_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00'
    and (expires_at is null or expires_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00')
    and (deadline_at is null or deadline_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00')) not valid;
alter table carillon.jobs
  add constraint jobs_times check (
    (run_at is null or run_at between '1970-01-01 00:00:00+00' and '10000-01-01 00:00:00+00')
    and (anchor is null or anchor between '1970-01-01 00:00:00+00' and '10000-01-01 00:00:00+00')
    and (start_at is null or start_at between '1970-01-01 00:00:00+00' and '10000-01-01 00:00:00+00')
    and (end_at is null or end_at between '1970-01-01 00:00:00+00' and '10000-01-01 00:00:00+00')
    and created_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00'
    and updated_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00') not valid,
  add constraint jobs_policy check (carillon.is_usable_policy(policy)) not valid,
  add constraint jobs_payload check (payload::json is not null or payload is null) not valid;
alter table carillon.job_spans
  add constraint job_spans_times check (isfinite(since) and isfinite(until) and isfinite(computed_at)
    and (stood is null or isfinite(stood)) and (stands is null or isfinite(stands))) not valid;

-- Nobody reads a shard that does not exist. How many there are is settled when the installation is created, so the rule is
-- written then. Without the right to alter tables (the schema was applied by somebody else) it is left out; the inspector
-- finds such rows all the same.
create function carillon.bind_shards(p_shard_count int) returns void language plpgsql as $$
declare
  v_table text;
begin
  foreach v_table in array array['schedules', 'retries', 'submissions'] loop
    execute format('alter table carillon.%1$I add constraint %1$s_shard check (shard between 0 and %2$s) not valid',
      v_table, p_shard_count - 1);
  end loop;
exception when insufficient_privilege then null;
end $$;
select carillon.bind_shards(n.shard_count) from carillon.installation n;

-- They take a parameter more, at the end and with a default: those who call them with the old ones go on.
drop function if exists carillon.lease(text, bigint[], int[], int, uuid[], boolean[], int, int, int, timestamptz);
drop function if exists carillon.expire_due(int, timestamptz);
drop function if exists carillon.read_due_schedules(smallint[], bigint, bigint, int);
drop function if exists carillon.read_due_retries(smallint[], bigint, bigint, int);
drop function if exists carillon.read_due_submissions(smallint[], bigint, bigint, int);
