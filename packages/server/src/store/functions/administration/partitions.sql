-- Partitions of the ledger, of its endings and log lines, of runs and their steps, for nodes that do not own the tables: only an owner may create or drop one.
-- SECURITY DEFINER; granted to carillon_node alone.

-- Builds the partition that starts at p_from and attaches it. Harmless if it is there already. It is built aside and attached with
-- a constraint that proves its bounds, so that ATTACH scans nothing and blocks nobody.
-- Locks: an advisory lock of the partition's own name; SHARE UPDATE EXCLUSIVE on the parent.
create or replace function carillon.create_partition(p_parent text, p_from bigint, p_until bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := format('%s_p%s', p_parent, p_from);
  v_low uuid := carillon.first_id(p_from);
  v_high uuid := carillon.first_id(p_until);
begin
  if p_parent is null or p_parent not in ('executions', 'endings', 'log_lines', 'dag_runs', 'dag_steps') or p_from < 0 or p_until <= p_from then
    raise exception 'carillon.create_partition: no such partition' using errcode = '22023';
  end if;
  -- Executions need them all. A node of the version before asks for the ledger's alone.
  if p_parent = 'executions' then
    perform carillon.create_partition(t, p_from, p_until) from unnest('{log_lines,dag_runs,dag_steps}'::text[]) t;
  end if;
  -- One node at a time; the others find it attached.
  perform pg_advisory_xact_lock(hashtext('carillon.' || v_name));
  if exists (select from pg_inherits i where i.inhrelid = to_regclass('carillon.' || v_name)) then
    return;
  end if;
  -- So much of a page of the ledger is filled by births, in per cent: the rest must hold all of its rows once more, and longer,
  -- when they end, or an end moves and writes every index. [m] Lives of 100 bytes of payload, 50 per cent: 15 of 100 moved;
  -- 40: none, 5 % less WAL, 9 % smaller indexes, a table 6 % larger.
  execute format('create table if not exists carillon.%I (
    like carillon.%I including defaults including constraints including indexes,
    constraint bounds check (execution_id >= %L and execution_id < %L)
  ) with (fillfactor = %s, autovacuum_vacuum_insert_scale_factor = 0.2)',
    v_name, p_parent, v_low, v_high, case p_parent when 'executions' then 40 else 100 end);
  execute format('alter table carillon.%I attach partition carillon.%I for values from (%L) to (%L)',
    p_parent, v_name, v_low, v_high);
  execute format('alter table carillon.%I drop constraint bounds', v_name);
end $$;

-- Removes a partition below the floor, in one transaction: DETACH takes ACCESS EXCLUSIVE on the parent for a moment. A node that
-- owns the tables detaches CONCURRENTLY instead, which no function can. The caller's lock_timeout bounds the wait.
create or replace function carillon.drop_partition(p_parent text, p_from bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := format('%s_p%s', p_parent, p_from);
begin
  if p_parent is null or p_parent not in ('executions', 'endings', 'log_lines', 'dag_runs', 'dag_steps')
      or not exists (select from carillon.installation n where carillon.first_id(p_from) < n.floor_id) then
    raise exception 'carillon.drop_partition: only partitions below the floor are dropped' using errcode = '22023';
  end if;
  if exists (select from pg_inherits i where i.inhrelid = to_regclass('carillon.' || v_name) and not i.inhdetachpending) then
    execute format('alter table carillon.%I detach partition carillon.%I', p_parent, v_name);
  end if;
  -- One whose DETACH CONCURRENTLY broke off is dropped as it is.
  execute format('drop table if exists carillon.%I', v_name);
end $$;
