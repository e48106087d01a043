-- Refusals in the audit are bounded and counted, and the audit has a retention. A tenant's pools are its own names.
-- breaking: yes (what registers a worker has another shape)
--
-- Lock order: audit_counts by key, after everything else.

-- How many refusals there were in a minute, until they are summed up in one row of the audit. Tenant '': none.
-- Actor '': all beyond the first ten.
create table carillon.audit_counts (
  minute timestamptz not null,
  tenant text collate "C" not null,
  action text collate "C" not null,
  actor text collate "C" not null,
  count bigint not null,
  primary key (minute, tenant, action, actor)
) with (fillfactor = 50);

-- Null: for good. Only the owner of the schema sets it: carillon.set_audit_retention.
alter table carillon.installation add column audit_retention_days int check (audit_retention_days >= 1);

-- The database refuses every change of the audit, and every removal of a row that is not older than the retention.
create or replace function carillon.audit_is_kept() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from carillon.installation n where old.at < clock_timestamp() - n.audit_retention_days * interval '1 day') then
    raise exception 'carillon.audit is append-only: the row is not older than the retention' using
      hint = 'The owner of the schema sets it: select carillon.set_audit_retention(days).';
  end if;
  return old;
end $$;
drop trigger append_only on carillon.audit;
create trigger append_only before update or truncate on carillon.audit
  for each statement execute function carillon.audit_is_append_only();
create trigger kept before delete on carillon.audit for each row execute function carillon.audit_is_kept();

-- A tenant's pools are its own names. `pool` is what the queue tables hold: an installation's pool is its name, a tenant's is the
-- tenant, U+001F, which no name can contain, and the name. Pools of tenants that are there already keep their plain name.
alter table carillon.pools add column name text collate "C" not null
  generated always as (split_part(pool, U&'\001f', -1)) stored;
create unique index pools_name on carillon.pools (tenant, name) nulls not distinct;
drop function if exists carillon.register_worker(uuid, uuid, text, text, jsonb, timestamptz);
