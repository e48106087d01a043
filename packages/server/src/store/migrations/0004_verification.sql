-- What jobs were over time, so that what should have fired can be computed again, and how far that has been compared with
-- the ledger. Nodes of the version before go on working beside it.
--
-- Lock order: job_spans after schedules, only ever new rows of a job whose schedule row is held; verification alone.

-- What a job was until it was changed: a row is written when that ends, by whatever changes its version or its state or
-- moves its schedule other than by firing. What it is now stands in jobs and schedules. So creating and firing write
-- nothing here; only the last fire of a recurring job does.
create table carillon.job_spans (
  job_id uuid not null,
  -- Orders the spans of a job, also those that end in the same instant.
  span_id bigint generated always as identity,
  version int not null,
  state text not null,
  -- When version and state became what they were.
  since timestamptz not null,
  until timestamptz not null,
  -- The time that the change took for now: what had passed by then, it put on record.
  computed_at timestamptz not null,
  -- The occurrence the schedule stood at when it ended: all before it are on record. After the last fire: its end.
  stood timestamptz,
  -- The one it stands at since. Null: nothing is to come.
  stands timestamptz,
  primary key (job_id, span_id)
);

-- What was computed before that time was computed with another tz database. Null: it was always the same.
alter table carillon.installation add column tz_changed_at timestamptz;

-- How far the ledger was compared with the schedules, and what was found, since the installation is watched.
create table carillon.verification (
  singleton boolean primary key default true check (singleton),
  -- Whatever was due before has been compared.
  verified_until timestamptz not null,
  -- The pass under way: up to which time, and where it has got to. Null: none is.
  pass_to timestamptz,
  position text,
  occurrences bigint not null default 0,
  missed bigint not null default 0,
  doubled bigint not null default 0,
  late bigint not null default 0,
  check ((pass_to is null) = (position is null))
) with (fillfactor = 50);

-- It takes two parameters more, at the end and with defaults: those who call it with the old ones go on.
drop function if exists carillon.change_job(
  uuid, int, text, bigint, jsonb, text, bigint, bigint, uuid[], jsonb, jsonb, timestamptz);
