-- Quotas of tenants; null: none. See docs/decisions/0065-quotas.md.
--
-- Lock order: idempotency, dedupe_requests, job_counts by tenant, dedupes, then as in 0022_dags.sql. Under a row of submission_budgets no other
-- row is locked.

alter table carillon.tenants
  add column max_jobs int check (max_jobs >= 0),
  add column submissions_per_sec int check (submissions_per_sec >= 1),
  add column max_pools int check (max_pools >= 0),
  add column max_workers int check (max_workers >= 0),
  add column max_idempotency_keys int check (max_idempotency_keys >= 0),
  add column max_event_streams int check (max_event_streams >= 0);

-- What nodes read every few seconds: empty where no tenant has a quota that nodes hold.
create index tenants_with_quotas on carillon.tenants (name)
  where submissions_per_sec is not null or max_idempotency_keys is not null or max_event_streams is not null;

-- The jobs at rest of tenants that have a quota for them. The row is also the lock under which such a tenant gets jobs.
create table carillon.job_counts (
  tenant text collate "C" primary key,
  -- There are no more than this: it grows with every job, and is counted again before a job is refused. Null: not counted yet.
  at_most bigint,
  -- Jobs of transactions that began before may not be in the count.
  since timestamptz not null default clock_timestamp(),
  -- What was counted when a job was refused, and until when that is taken to hold, so that refusals cost little.
  counted bigint,
  counted_until timestamptz
) with (fillfactor = 50);

-- What tenants with a quota of submissions per second may submit now. Lost in a crash of the server, which leaves it full.
create unlogged table carillon.submission_budgets (
  tenant text collate "C" primary key,
  -- Below zero after a batch that was larger than what was left.
  budget double precision not null,
  at timestamptz not null
) with (fillfactor = 50);

-- Its successor is declare_tenant.
drop function if exists carillon.put_tenant(text, int, text, int, text, timestamptz);
