-- What operators ask for: tokens by tenant, nodes, dead letters by error,
-- verification hour by hour.
-- Nodes of the version before go on working beside it.

create index api_keys_tenant on carillon.api_keys (tenant, created_at, key_id);

-- What each node says about itself, every 10 seconds. One row a node, HOT-updated.
create table carillon.node_facts (
  node_id uuid primary key,
  name text not null,
  version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  clock_offset_ms float8,
  workers int not null,
  cpu float8 not null,
  memory_bytes bigint not null,
  event_loop float8 not null,
  away text[] not null
) with (fillfactor = 50);

-- Of dead letters, what they are grouped by. Null of what ended before this: then the ledger has it. An empty error: there is none.
alter table carillon.endings
  -- Null: a submission.
  add column job_id uuid,
  add column handler text collate "C",
  -- The name of the pool, as people see it.
  add column pool text collate "C",
  add column reason text collate "C",
  add column error text collate "C",
  add column attempts int,
  add column ended_at timestamptz;

-- They take a parameter more: `reason`. Callers of the first without it go on.
drop function if exists carillon.select_executions(
  text, text, uuid, uuid, bigint, bigint, text[], uuid, text, text, text, text, jsonb);
drop function if exists carillon.fits(carillon.executions, text, uuid, text, text, text, text, jsonb);

-- Since when the installation is watched, and what was found hour by hour, of the last 30 days: written with the totals.
alter table carillon.verification add column since timestamptz;
update carillon.verification v set since = least(v.verified_until, (select n.created_at from carillon.installation n));
create table carillon.verified_hours (
  hour timestamptz primary key,
  occurrences bigint not null default 0,
  missed bigint not null default 0,
  doubled bigint not null default 0,
  stuck bigint not null default 0,
  wrong bigint not null default 0,
  lost bigint not null default 0,
  late bigint not null default 0
) with (fillfactor = 50);
