-- Graphs of steps and their runs. A step of a run is an execution of the ledger with origin DAG, whose job is the run. Nodes of the
-- version before go on working beside it: they run and report steps like any other execution.
--
-- A step that waits for others stands in `blocked`, and so does the run itself, which waits for all of its steps. Whatever ends a step
-- counts down those that wait for it, in its own transaction. One that waits for nothing more is taken up by the leader of the run's
-- shard, which makes it ready, or skips it, or ends the run. See docs/decisions/0059-dags.md.
--
-- Lock order: shards, schedules (the job's lock), flows, leases, lease_notes, dag_runs, executions, completions, blocked, waiting, retries,
-- endings, ready; within a table by primary key. Of `blocked`, a transaction locks all that it will need in one statement.

create table carillon.dags (
  dag_id uuid primary key,
  version int not null check (version >= 1),
  tenant text collate "C" not null check (tenant <> ''),
  name text not null,
  key text collate "C" check (key <> ''),
  managed_by text,
  labels jsonb,
  deadline_sec int check (deadline_sec >= 1),
  -- JSON text, in the form of the contract: payloads come back to the letter.
  steps text not null check (steps::json is not null),
  state text not null default 'ACTIVE' check (state in ('ACTIVE', 'DELETED')),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index dags_key on carillon.dags (tenant, key) where key is not null and state <> 'DELETED';
create index dags_tenant on carillon.dags (tenant, dag_id);

-- A run, written when it is created, when it is paused, resumed or cancelled, and when it ends. It has the steps it was created with.
-- Partitioned like the ledger, and dropped with it; its column has that name for this reason.
create table carillon.dag_runs (
  execution_id uuid not null,
  dag_id uuid,
  dag_version int,
  tenant text collate "C" not null,
  name text not null,
  labels jsonb,
  payload text,
  traceparent text,
  -- JSON text; each step after those it depends on. Its number is its place, from 0 on.
  steps text not null,
  step_count int not null check (step_count >= 1),
  created_at timestamptz not null,
  deadline_at timestamptz,
  -- The execution that has started it and ends as it does; and the graphs whose runs have led here, outermost first.
  started_by uuid,
  ancestors uuid[],
  -- Its steps are the items of a list: `steps` has one, which stands for all.
  fan_out boolean not null default false,
  -- How many of its steps may be ready or running at once; null: all. With how many failures it has SUCCEEDED all the same.
  concurrency int check (concurrency >= 1),
  max_failures int not null default 0 check (max_failures >= 0),
  -- From here on: changed after birth.
  -- The fence under which `started_by` waits for its end.
  started_fence bigint,
  paused boolean not null default false,
  cancel_at timestamptz,
  cancel_reason text,
  cancel_by text,
  state text check (state in ('SUCCEEDED', 'FAILED', 'CANCELLED')),
  reason text,
  finished_at timestamptz,
  -- Of a run that has ended; before, `blocked` has it.
  failed_count int,
  primary key (execution_id),
  check ((state is null) = (finished_at is null)),
  check ((started_by is null) = (started_fence is null))
) partition by range (execution_id);
create index dag_runs_tenant on carillon.dag_runs (tenant, execution_id);
create index dag_runs_dag on carillon.dag_runs (dag_id, execution_id) where dag_id is not null;
create index dag_runs_started on carillon.dag_runs (started_by) where started_by is not null;

-- Which execution is which step of a run, and which steps depend on it. Never changed; partitioned like the ledger.
create table carillon.dag_steps (
  execution_id uuid not null,
  number int not null,
  allow_failure boolean not null,
  -- Executions that wait for this one.
  children uuid[] not null,
  primary key (execution_id)
) partition by range (execution_id);

do $$
declare
  v_partition record;
begin
  for v_partition in
    select coalesce('p' || substring(c.relname from '_p([0-9]+)$'), c.relname) suffix, pg_get_expr(c.relpartbound, c.oid) bounds from pg_inherits i
    join pg_class c on c.oid = i.inhrelid where i.inhparent = 'carillon.executions'::regclass
  loop
    execute format('create table carillon.%I partition of carillon.dag_runs %s', 'dag_runs_' || v_partition.suffix, v_partition.bounds);
    execute format('create table carillon.%I partition of carillon.dag_steps %s', 'dag_steps_' || v_partition.suffix, v_partition.bounds);
  end loop;
end $$;

-- What waits for steps: steps, and runs under their own ids.
create table carillon.blocked (
  execution_id uuid primary key,
  run_id uuid not null,
  shard smallint not null,
  -- How many of those it waits for have not ended; of the others, how many failed and how many were skipped by a condition.
  remaining int not null check (remaining >= 0),
  -- It waits for nothing more. A column, because an index that mentions `remaining` would be written at every count.
  released boolean not null generated always as (remaining = 0) stored,
  failed int not null default 0,
  skipped int not null default 0,
  -- Its run is paused: nobody takes it up until that is over.
  held boolean not null default false,
  -- A step of a run in which only so many may be ready or running at once: it waits for a slot too.
  queued boolean not null default false,
  -- Of such a run: its slots, and how many are taken.
  slots int,
  active int not null default 0,
  has_room boolean generated always as (active < slots) stored,
  -- A run that an execution has started.
  started boolean not null default false
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index blocked_released on carillon.blocked (shard) where released and not held and not queued;
create index blocked_run on carillon.blocked (run_id);
create index blocked_queued on carillon.blocked (run_id, execution_id) where queued and released and not held;
create index blocked_slots on carillon.blocked (shard) where has_room;
create index blocked_started on carillon.blocked (execution_id) where started;

-- What a step is given of the steps it depends on, once they have ended: members of a JSON object.
alter table carillon.executions add column inputs text;

alter table carillon.deadlines drop constraint deadlines_kind_check;
alter table carillon.deadlines add constraint deadlines_kind_check check (kind in ('START', 'FINISH', 'RUN')) not valid;

-- They answer more than before: in which shards steps were released.
drop function if exists carillon.end_executions(timestamptz, uuid[], text[], bigint[], uuid[], timestamptz[], text[], text[], jsonb[], text[],
  text[], jsonb[], int[], text[], text[]);
drop function if exists carillon.report(uuid[], bigint[], text[], text[], text[], bigint[], bigint[], text[], jsonb[], text[], text[], text[],
  timestamptz);
drop function if exists carillon.report_others(bigint[], uuid[], timestamptz[], boolean[], int[], uuid[], uuid[], bigint[], text[], text[],
  text[], bigint[], bigint[], text[], jsonb[], text[], text[], text[], timestamptz);
