-- What happened to jobs and executions, for whoever listens. Nodes of the version before go on working beside it.
--
-- An event is written in the transaction of the change it tells, and only for tenants that somebody listens to: while
-- nobody does, a call looks into event_listeners once and writes nothing.
--
-- Lock order: events and event_listeners after everything in the heads of 0001 and 0002. Whatever may write events holds
-- ROW EXCLUSIVE on the table `events` before it looks who listens and until it ends; functions/event_writers.sql
-- relies on it.

create table carillon.events (
  event_id bigint generated always as identity primary key,
  at timestamptz not null,
  tenant text collate "C" not null,
  type text collate "C" not null,
  job_id uuid not null,
  -- Null: it is about the job.
  execution_id uuid,
  detail jsonb not null
) with (fillfactor = 100, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
        -- Giving pages back takes a lock that FIRE, LEASE and REPORT would wait for.
        vacuum_truncate = off);
create index events_tenant on carillon.events (tenant, event_id);

-- The tenants somebody listens to, whichever node he is at. Renewed long before `until`. Neither column is in an index:
-- a renewal is a HOT update, and the table stays as small as it is.
create table carillon.event_listeners (
  tenant text collate "C" primary key check (tenant <> ''),
  -- Changes that begin before this time are told.
  until timestamptz not null,
  -- Every change after this event was told, and its event is still there. Null: somebody has begun to listen, and changes
  -- may be under way that do not know it yet.
  since_event_id bigint
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
