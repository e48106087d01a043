-- The tables of the engine. breaking: yes (nothing older can use them)
--
-- Where a row is, is its state. An execution is PENDING while it stands in `ready`, `waiting` or nowhere else, RUNNING
-- while it stands in `running`, FAILED, TIMED_OUT or WORKER_LOST while it stands in `retries`, and ended once the
-- ledger (`executions`) says how. The ledger row is written twice in a good life: when due and when done.
--
-- Lock order, the same everywhere (test/integration/races/lock-order.test.ts):
--   shards, schedules (the job's lock), flows, running, executions, waiting, retries, endings, ready;
--   within a table by primary key. Out of this order only SKIP LOCKED, which never waits.

create table carillon.installation (
  singleton boolean primary key default true check (singleton),
  shard_count smallint not null check (shard_count between 1 and 1024),
  partition_hours smallint not null check (partition_hours between 1 and 24 * 31),
  retention_days int not null check (retention_days >= 1),
  -- No row is written below this id: the partitions there are gone or going.
  floor_id uuid not null default '00000000-0000-0000-0000-000000000000',
  tz_version text,
  created_at timestamptz not null default clock_timestamp()
);

-- Leadership. A node renews its own row; a shard's row changes only when its leader does, so that renewals never meet
-- FIRE, which holds the shard's row FOR SHARE.
create table carillon.nodes (
  node_id uuid primary key,
  name text not null,
  lease_until timestamptz not null,
  started_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

create table carillon.shards (
  shard smallint primary key,
  epoch bigint not null default 0,
  node_id uuid
);

create table carillon.pools (
  pool text collate "C" primary key check (pool <> ''),
  paused boolean not null default false,
  created_at timestamptz not null default clock_timestamp()
);

-- The definition. The columns up to `labels` are one version of it; an older version goes to job_versions when the
-- job is changed, because what has fired keeps the version it fired with.
create table carillon.jobs (
  job_id uuid primary key,
  version int not null check (version >= 1),
  tenant text collate "C" not null check (tenant <> ''),
  name text not null,
  type text not null check (type in ('ONE_SHOT', 'DELAYED', 'CRON', 'INTERVAL')),
  run_at timestamptz,
  delay_ms bigint check (delay_ms >= 0),
  cron text,
  "interval" text,
  timezone text not null default 'UTC',
  dst_gap text not null default 'SHIFT' check (dst_gap in ('SHIFT', 'SKIP')),
  dst_overlap text not null default 'FIRST' check (dst_overlap in ('FIRST', 'SECOND', 'BOTH')),
  anchor timestamptz,
  start_at timestamptz,
  end_at timestamptz,
  max_fires bigint check (max_fires >= 1),
  jitter_sec int not null default 0 check (jitter_sec >= 0),
  misfire text not null default 'FIRE_ONCE' check (misfire in ('FIRE_ONCE', 'FIRE_ALL', 'SKIP')),
  misfire_after_sec int not null default 60 check (misfire_after_sec >= 0),
  max_catch_up int not null default 1000 check (max_catch_up >= 1),
  grace_sec int check (grace_sec >= 0),
  start_within_sec int check (start_within_sec >= 1),
  deadline_sec int check (deadline_sec >= 1),
  overlap text not null default 'ALLOW' check (overlap in ('ALLOW', 'FORBID', 'QUEUE_ONE', 'REPLACE')),
  pool text collate "C" not null,
  lane smallint not null check (lane between 0 and 3),
  handler text collate "C" not null check (handler <> ''),
  -- JSON as text, not jsonb: what the user sent comes back to the letter, "\u0000" included.
  payload text,
  -- What only a worker's node reads: retryPolicy, timeoutSec, heartbeatTimeoutSec, delivery, cancelGraceSec, …
  -- Only what differs from the defaults.
  policy jsonb,
  labels jsonb,
  key text collate "C" check (key <> ''),
  managed_by text,
  state text not null default 'ACTIVE' check (state in ('ACTIVE', 'PAUSED', 'COMPLETED', 'DELETED')),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint jobs_one_time_field check (
    (type = 'ONE_SHOT') = (run_at is not null) and (type = 'DELAYED') = (delay_ms is not null)
    and (type = 'CRON') = (cron is not null) and (type = 'INTERVAL') = ("interval" is not null and anchor is not null))
);
create unique index jobs_key on carillon.jobs (tenant, key) where key is not null and state <> 'DELETED';
create index jobs_tenant on carillon.jobs (tenant, job_id);
-- FIRE and LEASE look up the definition of every row they touch. By hash that is two buffers at any size; by the primary
-- key three at 10,000 jobs, where the planner may still take that, and four at 1,000,000. [m] In time no difference
-- was seen; creating 1,000 jobs takes 35 to 36 ms of CPU instead of 32 to 35, and 1,000,000 jobs take 32 MB more.
create index jobs_by_id on carillon.jobs using hash (job_id);

create table carillon.job_versions (
  like carillon.jobs including constraints,
  replaced_at timestamptz not null default clock_timestamp(),
  primary key (job_id, version)
);

-- Where each job stands: narrow, because every fire rewrites it. The row is also the job's lock.
create table carillon.schedules (
  job_id uuid primary key,
  shard smallint not null,
  version int not null,
  -- The occurrence that is next to fire. `due` is null when nothing may fire (paused, completed, deleted); a paused
  -- job keeps `nominal`, so that what passes meanwhile can be recorded.
  nominal timestamptz,
  due timestamptz,
  fires bigint not null default 0,
  -- With FORBID, QUEUE_ONE and REPLACE: the executions that may be unfinished. Checked by primary key, under this lock.
  live uuid[],
  check (due is null or nominal is not null)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
-- due first: a node that leads every shard reads one run of leaves; the shard is checked inside the index (from
-- PostgreSQL 17 on).
create index schedules_due on carillon.schedules (due, shard) where due is not null;

-- The ledger. Fillfactor 50 and no index on anything that REPORT changes: finishing is a HOT update.
create table carillon.executions (
  execution_id uuid not null,
  job_id uuid not null,
  -- null: the definition is in this row (submissions, and one-shots, which leave the jobs when they fire)
  job_version int,
  tenant text collate "C" not null,
  pool text collate "C" not null,
  lane smallint not null,
  handler text collate "C" not null,
  tag bigint not null,
  origin text not null check (origin in ('SCHEDULE', 'TRIGGER', 'BACKFILL', 'SUBMIT', 'DAG')),
  -- The job limits overlap with itself: when this one ends, one that waits may start.
  guarded boolean not null default false,
  scheduled_for timestamptz not null,
  due_at timestamptz not null,
  fired_at timestamptz not null,
  expires_at timestamptz,
  deadline_at timestamptz,
  name text,
  payload text,
  policy jsonb,
  labels jsonb,
  traceparent text,
  -- A SKIPPED row may stand for several occurrences in a row, skipped for the same reason.
  skipped_last timestamptz,
  skipped_count int,
  -- From here on: changed after birth.
  state text check (state in ('SUCCEEDED', 'DEAD', 'CANCELLED', 'SKIPPED')),
  reason text,
  attempt int not null default 0,
  -- Times it came back without an attempt used (drain, unknown handler, worker lost before the handler began).
  releases int not null default 0,
  started_at timestamptz,
  finished_at timestamptz,
  worker_id uuid,
  fence bigint,
  progress text,
  result text,
  error jsonb,
  log text,
  -- Every transition out of the ordinary, oldest first: {at, to, actor, reason, attempt, fence, workerId, startedAt, error}
  history jsonb,
  primary key (execution_id),
  check ((state is null) = (finished_at is null)),
  check (state is distinct from 'SKIPPED' or reason is not null)
) partition by range (execution_id);
create index executions_tenant on carillon.executions (tenant, execution_id);
-- A submission is its own job: it is found by its id and needs no entry here.
create index executions_job on carillon.executions (job_id, execution_id) where job_id <> execution_id;

-- Ends other than SUCCEEDED, for dead letters and filters by state.
create table carillon.endings (
  execution_id uuid not null,
  tenant text collate "C" not null,
  state text not null,
  primary key (execution_id)
) partition by range (execution_id);
create index endings_state on carillon.endings (tenant, state, execution_id);

create table carillon.ready (
  pool text collate "C" not null,
  lane smallint not null,
  tag bigint not null,
  execution_id uuid not null,
  primary key (pool, lane, tag, execution_id)
) with (fillfactor = 100, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000000000);

create table carillon.running (
  execution_id uuid primary key,
  fence bigint not null,
  worker_id uuid not null,
  attempt int not null,
  leased_at timestamptz not null,
  -- When the attempt is over, grace included, whether or not the worker says so; a cancel brings it nearer.
  overdue_at timestamptz not null,
  grace_sec int not null,
  heartbeat_timeout_sec int,
  heartbeat_at timestamptz,
  -- False: taken ahead of a free slot, or AT_MOST_ONCE not yet announced. Lost then, no attempt is used.
  began boolean not null,
  progress text,
  cancel_at timestamptz,
  cancel_reason text,
  cancel_by text,
  -- Set by completeIn, inside the handler's own transaction.
  completed boolean not null default false,
  result text
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000000000);

-- Every lease of anything takes the next one.
create sequence carillon.fences;

-- Executions that come back to `ready` at a time: retries, and hand-backs with a delay.
create table carillon.retries (
  execution_id uuid primary key,
  shard smallint not null,
  due timestamptz not null,
  tenant text collate "C" not null,
  pool text collate "C" not null,
  lane smallint not null,
  -- What the execution shows meanwhile.
  state text not null check (state in ('FAILED', 'TIMED_OUT', 'WORKER_LOST', 'PENDING'))
) with (fillfactor = 100, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index retries_due on carillon.retries (due, shard);

-- Executions that may run but for a limit: today, the job's own overlap policy.
create table carillon.waiting (
  execution_id uuid primary key,
  key text collate "C" not null
);
create index waiting_key on carillon.waiting (key, execution_id);

-- What a caller enqueued in a transaction of its own: one row and no shared lock. The shard's leader fires it after
-- the commit.
create table carillon.submissions (
  execution_id uuid primary key,
  shard smallint not null,
  tenant text collate "C" not null,
  name text,
  pool text collate "C" not null,
  lane smallint not null,
  handler text collate "C" not null,
  run_at timestamptz not null,
  payload text,
  policy jsonb,
  labels jsonb,
  traceparent text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index submissions_due on carillon.submissions (run_at, shard);

-- When something must be looked at though nobody reports: start windows and deadlines over all attempts.
create table carillon.deadlines (
  execution_id uuid not null,
  kind text not null check (kind in ('START', 'FINISH')),
  due timestamptz not null,
  primary key (execution_id, kind)
);
create index deadlines_due on carillon.deadlines (due);

-- Fair sharing: where each flow's last execution ends, and how far each lane has been leased.
create table carillon.flows (
  pool text collate "C" not null,
  lane smallint not null,
  tenant text collate "C" not null,
  finish bigint not null,
  primary key (pool, lane, tenant)
) with (fillfactor = 50);
create table carillon.lanes (
  pool text collate "C" not null,
  lane smallint not null,
  virtual_time bigint not null,
  primary key (pool, lane)
) with (fillfactor = 50);

create table carillon.workers (
  worker_id uuid primary key,
  node_id uuid not null,
  name text not null,
  pools jsonb not null,
  registered_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

create table carillon.audit (
  audit_id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  tenant text collate "C",
  actor text not null,
  action text not null,
  subject text,
  detail jsonb
);
create function carillon.audit_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'carillon.audit is append-only';
end $$;
create trigger append_only before update or delete or truncate on carillon.audit
  for each statement execute function carillon.audit_is_append_only();
