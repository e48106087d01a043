-- Database roles with fewer rights than the owner: secrets in a table of their own, the tenants that a role may name in SQL,
-- and submissions with a dedupe key that were enqueued in a caller's own transaction.
-- breaking: yes (the secret has moved)
--
-- Lock order: dedupe_requests before dedupes, and before everything in the head of 0002.

create table carillon.secrets (
  singleton boolean primary key default true check (singleton),
  -- Signs the tokens that outside services report with.
  completion_secret bytea not null
);
insert into carillon.secrets (completion_secret) values (coalesce((select n.secret from carillon.installation n),
  sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'))));
alter table carillon.installation drop column secret;

-- The tenants that a role, and the roles that are members of it, may name in carillon.enqueue and carillon.complete_in.
-- Null: all. The owner of the schema needs no row.
create table carillon.sql_tenants (
  role text collate "C" not null check (role <> ''),
  tenant text collate "C" check (tenant <> ''),
  unique nulls not distinct (role, tenant)
);

-- What carillon.enqueue was asked for with a dedupe key. A node decides after the caller's commit which execution stands.
create table carillon.dedupe_requests (
  -- The id that the caller got.
  request_id uuid primary key,
  at timestamptz not null default clock_timestamp(),
  tenant text collate "C" not null check (tenant <> ''),
  name text,
  pool text collate "C" not null,
  lane smallint not null check (lane between 0 and 3),
  handler text collate "C" not null,
  run_at timestamptz not null check (run_at >= '0001-01-01 00:00:00+00' and run_at < '10000-01-01 00:00:00+00'),
  payload text,
  policy jsonb,
  labels jsonb,
  traceparent text,
  dedupe jsonb not null check (jsonb_typeof(dedupe) = 'object'),
  settled_at timestamptz,
  verdict text check (verdict in ('NEW', 'KEPT', 'REPLACED', 'DEBOUNCED', 'REFUSED')),
  -- The execution that stands under the key.
  execution_id uuid,
  error text,
  check ((settled_at is null) = (verdict is null))
);
create index dedupe_requests_open on carillon.dedupe_requests (at) where settled_at is null;
create index dedupe_requests_settled on carillon.dedupe_requests (settled_at) where settled_at is not null;

drop function if exists carillon.complete_in(uuid, bigint, text);
drop function if exists carillon.enqueue(text, json, text, text, text, timestamptz, jsonb, jsonb, text, text);
