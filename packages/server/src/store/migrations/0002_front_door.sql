-- What the ways in need: owners of pools and workers, API keys, answers to be repeated, duplicates, long work.
-- Nodes of the version before go on working beside it.
--
-- Lock order: idempotency, dedupes, operations, then as in the head of 0001.

alter table carillon.pools add column tenant text collate "C";
-- Null: a worker with a platform token, which serves the pools of the installation.
alter table carillon.workers add column tenant text collate "C";

-- Signs the tokens that outside services report with.
alter table carillon.installation add column secret bytea not null
  default sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));

-- Only the hash of a key is here. A platform key has no tenant.
create table carillon.api_keys (
  key_id text collate "C" primary key,
  hash bytea not null,
  name text not null,
  tenant text collate "C" check (tenant <> ''),
  scopes text[] not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz
);

-- Requests with an Idempotency-Key and how they were answered, written in the transaction that did what was asked for. A
-- twin that comes meanwhile waits here for that transaction.
create table carillon.idempotency (
  tenant text collate "C" not null,
  route text collate "C" not null,
  key text collate "C" not null,
  body_hash bytea not null,
  answer text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (tenant, route, key)
);
create index idempotency_at on carillon.idempotency using brin (at);

-- Which submission stands under a dedupe key. The row is also the key's lock.
create table carillon.dedupes (
  tenant text collate "C" not null,
  key text collate "C" not null,
  execution_id uuid not null,
  -- When the first of those came that stood here one after the other.
  first_at timestamptz not null,
  -- A submission before this time is a duplicate even after the end.
  window_until timestamptz,
  primary key (tenant, key)
) with (fillfactor = 80);

-- Long work: one row, taken up by whichever node finds it due, a batch at a time.
create table carillon.operations (
  operation_id uuid primary key,
  tenant text collate "C" not null,
  kind text not null check (kind in ('CANCEL', 'RETRY', 'PURGE', 'BACKFILL')),
  params jsonb not null,
  state text not null default 'RUNNING' check (state in ('RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED')),
  total bigint,
  done bigint not null default 0,
  skipped bigint not null default 0,
  -- Where it goes on: the last id or time it has dealt with.
  position text,
  -- CANCEL: held by whoever was ending them, to be asked again. BACKFILL: let go and not ended yet.
  open uuid[] not null default '{}',
  rate_per_sec float8,
  -- Taken up for the n-th time: whoever took it up before writes no more.
  fence bigint not null default 0,
  next_at timestamptz not null default clock_timestamp(),
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  error text,
  check ((state = 'RUNNING') = (finished_at is null))
) with (fillfactor = 50);
create index operations_next on carillon.operations (next_at) where state = 'RUNNING';

-- SKIPPED rows that stand for several occurrences: a backfill asks which one stands for a time. No ordinary row is in it.
create index executions_skipped on carillon.executions (job_id, execution_id) where skipped_last is not null;

create index audit_tenant on carillon.audit (tenant, audit_id);
