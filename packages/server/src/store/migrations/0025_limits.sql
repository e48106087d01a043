-- Limits of concurrency and of rate: what they say, who holds their slots, who waits for them. See docs/decisions/0064-limits.md.
--
-- What has a limit is born in `waiting`. One function, ADMIT, gives slots away, under the locks of their keys; whatever ends an attempt gives
-- them back by a row of `limit_changes`, without a lock that others wait for. So REPORT never waits for a limit.
--
-- Lock order: shards, schedules (the job's lock), flows, leases, lease_notes, dag_runs, executions, completions, blocked, limit_keys, waiting,
-- retries, endings, ready; within a table by primary key. Only ADMIT and what looks for leaked slots lock `limit_keys`, and all that they
-- need in one statement.

create table carillon.limits (
  limit_id int generated always as identity primary key,
  -- Null: of the installation, for the executions of all tenants together.
  tenant text collate "C" check (tenant <> ''),
  name text collate "C" not null check (name <> '' and name !~ ':'),
  -- What has a count of its own: each key that executions name, each job, handler, pool or tenant.
  scope text not null check (scope in ('KEY', 'JOB', 'HANDLER', 'POOL', 'TENANT')),
  -- Only this one. Null: each.
  subject text collate "C" check (subject is null or subject <> '' and scope <> 'KEY'),
  -- How many may be ready or running at once. 0: nothing starts.
  concurrency int check (concurrency between 0 and 1000000),
  -- How many may become ready in so many seconds, evenly.
  rate_count int check (rate_count between 1 and 1000000),
  rate_sec int check (rate_sec between 1 and 86400),
  description text,
  version int not null default 1 check (version >= 1),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique nulls not distinct (tenant, name),
  check ((rate_count is null) = (rate_sec is null)),
  check (concurrency is not null or rate_count is not null)
);

-- Those that count executions which do not name them.
create index limits_unnamed on carillon.limits (tenant) where scope <> 'KEY';

-- A key is limit:<limit_id>:<what is counted>. Rows that say nothing are removed.
create table carillon.limit_keys (
  key text collate "C" primary key,
  -- Slots given away, less those given back that ADMIT has seen.
  taken int not null default 0,
  -- Until then the rate has been used up.
  next_at timestamptz,
  -- Of a limit that tenants share, the largest start tag so far: see limit_turns.
  virtual_time bigint not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- Who holds a slot: executions that are ready or running.
create table carillon.limit_holds (
  execution_id uuid not null,
  key text collate "C" not null,
  primary key (execution_id, key)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index limit_holds_key on carillon.limit_holds (key);

-- Keys that ADMIT has to look at: something began to wait, or gave slots back.
create table carillon.limit_changes (
  change_id bigint generated always as identity primary key,
  key text collate "C" not null,
  freed int not null
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index limit_changes_key on carillon.limit_changes (key);

-- What waits for a limit was given a tag like everything that comes in, and gets another one when it is admitted: the first one is not charged
-- to its flow.
create table carillon.limit_refunds (
  pool text collate "C" not null,
  lane smallint not null,
  tenant text collate "C" not null,
  count int not null
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- Turns of tenants at a limit that they share: where the last execution of each ends (start-time fair queueing).
create table carillon.limit_turns (
  key text collate "C" not null,
  tenant text collate "C" not null,
  finish bigint not null,
  primary key (key, tenant)
) with (fillfactor = 50);

-- The tenant of what waits for a limit; null: it waits for an execution of its job.
alter table carillon.waiting add column tenant text collate "C";
create index waiting_turns on carillon.waiting (key, tenant, execution_id) where tenant is not null;
alter table carillon.waiting drop constraint waiting_key;
alter table carillon.waiting
  add constraint waiting_key check (key ~ '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' or key ~ '^limit:[0-9]+:' and tenant is not null) not valid;
create index limit_keys_next on carillon.limit_keys (next_at) where next_at is not null;

-- It takes more than before.
drop function if exists carillon.create_executions(timestamptz, text, carillon.birth[], boolean, timestamptz, text, boolean);
