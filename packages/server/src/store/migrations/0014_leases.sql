-- Leases instead of a row for each running execution, and queue rows that carry what the worker gets. breaking: yes
--
-- A LEASE writes one row for each worker and kind of slot, with the ids it covers. A fence is the number of the lease and the place of
-- the execution in it: lease_id * 1024 + place. What is still held of a lease is what the ledger has neither ended nor seen come back
-- under that fence or a later one. See docs/decisions/0045-leases.md.
--
-- Lock order: shards, schedules (the job's lock), flows, leases, lease_notes, executions, completions, waiting, retries, endings, ready; within a
-- table by primary key. Out of this order only SKIP LOCKED, which never waits. On a ledger row, KEY SHARE is held by whoever completes
-- the execution in a transaction of their own, FOR UPDATE taken by whoever takes it away from its worker.

create sequence carillon.lease_ids;

create table carillon.leases (
  lease_id bigint primary key,
  worker_id uuid not null,
  pool text collate "C" not null,
  lane smallint not null,
  -- The smallest and the largest tag of what it covers: an execution's lease is found by its tag.
  tag_low bigint not null,
  tag_high bigint not null,
  leased_at timestamptz not null,
  -- When the attempts are over, grace included, whether or not the worker says so.
  overdue_at timestamptz not null,
  grace_sec int not null,
  heartbeat_timeout_sec int,
  -- False: taken ahead of a free slot, or AT_MOST_ONCE not yet announced.
  began boolean not null,
  -- How many are still held.
  open int not null,
  -- Some of them have a row in lease_notes.
  noted boolean not null default false,
  ids uuid[] not null,
  -- What could never be right: see 0008_quarantine.sql. One rule, because every statement reads all rules of its table anew.
  constraint leases_sound check (lease_id between 0 and 8796093022207 and open between 1 and 1024 and cardinality(ids) between 1 and 1024
    and leased_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00' and overdue_at < '20000-01-01 00:00:00+00'
    and grace_sec >= 0 and lane between 0 and 3)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000000000);
alter table carillon.leases alter column ids set storage external;
create index leases_tag on carillon.leases (pool, lane, tag_high);

-- What is out of the ordinary about an execution that is held. It goes with the hold.
create table carillon.lease_notes (
  execution_id uuid primary key,
  fence bigint not null,
  -- Another than the lease's: it was deferred.
  worker_id uuid,
  began boolean,
  overdue_at timestamptz,
  heartbeat_at timestamptz,
  progress text,
  cancel_at timestamptz,
  cancel_reason text,
  cancel_by text,
  constraint lease_notes_sound check ((progress is null or progress::json is not null) and fence between 0 and 9007199254740991
    and (overdue_at is null or overdue_at < '20000-01-01 00:00:00+00')
    and (cancel_at is null or cancel_at between '1970-01-01 00:00:00+00' and '20000-01-01 00:00:00+00'))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000000000);

-- What handlers have completed in their own transactions, until it is reported. Written by complete_in alone, which holds KEY SHARE on
-- the ledger row until the handler's transaction ends.
create table carillon.completions (
  execution_id uuid not null,
  fence bigint not null,
  result text check (result is null or result::json is not null),
  primary key (execution_id, fence)
);

alter table carillon.ready
  -- What the worker gets, JSON members without the fence. Null: it is too long to be carried, and is made when it is leased.
  add column body text,
  -- What differs from the defaults.
  add column timeout_sec int,
  add column grace_sec int,
  add column heartbeat_timeout_sec int,
  add column announce_start boolean,
  -- Not leased after this time. Null for one that was leased before.
  add column expires_at timestamptz,
  -- What is not JSON would spoil the answer to the worker, with all others in it. [m] 0.7 us a row.
  add constraint ready_sound check ((body is null or ('{' || body || '}')::json is not null) and (timeout_sec is null or timeout_sec >= 0)
    and (grace_sec is null or grace_sec >= 0) and (heartbeat_timeout_sec is null or heartbeat_timeout_sec >= 0));
alter table carillon.ready alter column body set storage external;

-- An execution that is to be: what create_executions and admit are given.
create type carillon.birth as (
  id uuid, job_id uuid, job_version int, tenant text, name text, pool text, lane smallint, handler text, tag bigint, guarded boolean,
  scheduled_for timestamptz, due_at timestamptz, expires_at timestamptz, deadline_at timestamptz, payload text, policy jsonb,
  labels jsonb, traceparent text,
  -- How and why it ends at once. Null: it does not.
  state text, reason text, skipped_last timestamptz, skipped_count int, history jsonb,
  -- What it waits for. Null: nothing.
  key text,
  -- The policy that holds, the job's included.
  rules jsonb,
  -- What the worker gets; see body_text.
  body text
);

-- What is running goes over with its fence. Those whose fences share a lease number share a lease; the notes say whose each is.
create temporary table moving on commit drop as
select r.*, r.fence >> 10 lease_id, (r.fence & 1023)::int place, e.pool, e.lane, e.tag
from carillon.running r join carillon.executions e on e.execution_id = r.execution_id;
create index on moving (lease_id, place);
analyze moving;
insert into carillon.leases (lease_id, worker_id, pool, lane, tag_low, tag_high, leased_at, overdue_at, grace_sec, heartbeat_timeout_sec,
  began, open, noted, ids)
select m.lease_id, '00000000-0000-0000-0000-000000000000', min(m.pool), min(m.lane), min(m.tag), max(m.tag), min(m.leased_at),
  max(m.overdue_at), max(m.grace_sec),
  -- Not one that only some of them have: the timeout of the attempt bounds those.
  case when count(distinct coalesce(m.heartbeat_timeout_sec, 0)) = 1 then min(m.heartbeat_timeout_sec) end, false, count(*), true,
  array(select o.execution_id from generate_series(0, max(m.place)) p(place)
    left join moving o on o.lease_id = m.lease_id and o.place = p.place order by p.place)
from moving m group by m.lease_id;
insert into carillon.lease_notes (execution_id, fence, worker_id, began, overdue_at, heartbeat_at, progress, cancel_at, cancel_reason,
  cancel_by)
select execution_id, fence, worker_id, began, overdue_at, heartbeat_at, progress, cancel_at, cancel_reason, cancel_by
from moving;
insert into carillon.completions (execution_id, fence, result) select execution_id, fence, result from moving where completed;
select setval('carillon.lease_ids', (select f.last_value >> 10 from carillon.fences f) + 1);
drop function if exists carillon.stands_elsewhere(uuid);
drop table carillon.running;
drop sequence carillon.fences;
drop function if exists carillon.lease(text, bigint[], int[], int, uuid[], boolean[], int, int, int, timestamptz, uuid[]);
drop function if exists carillon.lease_rules(jsonb, int, int, int);
drop function if exists carillon.submit_and_lease(text[], text[], text[], bytea[], text[], uuid[], text[], text[], text[], smallint[],
  text[], bigint[], bigint[], text[], jsonb[], jsonb[], text[], bigint, bigint[], int[], int, uuid[], boolean[], int, int, int, timestamptz);
drop function if exists carillon.submit(uuid[], text[], text[], text[], smallint[], text[], bigint[], bigint[],
  text[], jsonb[], jsonb[], text[], timestamptz);
drop function if exists carillon.submit_once(int[], text[], text[], text[], bytea[], text[], uuid[], text[], text[], text[], smallint[], text[], bigint[], bigint[],
  text[], jsonb[], jsonb[], text[], timestamptz);
drop function if exists carillon.create_work(jsonb, jsonb, text, jsonb, uuid[], text[], text[], text[], smallint[], text[], bigint[], bigint[],
  text[], jsonb[], jsonb[], text[], timestamptz);
drop function if exists carillon.read_running(uuid[]);
drop function if exists carillon.find_unusable_running(uuid[], bigint[]);

-- What is held, an execution a row, for those who are in no hurry: it reads all leases, and the ledger for all that they cover.
create view carillon.running as
select u.execution_id, (l.lease_id << 10) + u.place - 1 fence, coalesce(n.worker_id, l.worker_id) worker_id, e.attempt + 1 attempt,
  l.leased_at, coalesce(n.overdue_at, l.overdue_at) overdue_at, l.grace_sec,
  -- An external system that will report the end is not expected to send heartbeats.
  case when coalesce(n.worker_id, l.worker_id) <> '00000000-0000-0000-0000-000000000000' then l.heartbeat_timeout_sec end heartbeat_timeout_sec,
  coalesce(n.heartbeat_at, l.leased_at) heartbeat_at, coalesce(n.began, l.began) began, n.progress, n.cancel_at, n.cancel_reason,
  n.cancel_by, c.execution_id is not null completed, c.result
from carillon.leases l cross join lateral unnest(l.ids) with ordinality u(execution_id, place)
join carillon.executions e on e.execution_id = u.execution_id
left join carillon.lease_notes n on n.execution_id = u.execution_id and n.fence = (l.lease_id << 10) + u.place - 1
left join carillon.completions c on c.execution_id = u.execution_id and c.fence = (l.lease_id << 10) + u.place - 1
where e.state is null and (e.fence is null or e.fence < (l.lease_id << 10) + u.place - 1);
