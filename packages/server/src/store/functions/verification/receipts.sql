-- A node's next beat, and how many submissions it has acknowledged by tenant and minute: whole counts, so writing them again changes
-- nothing. p_seen, p_seen_at: the last beat that was confirmed to the node. If the table has an earlier one, or none, the
-- database has lost what it had committed since; that is put on record. If it has a later one, only an answer was lost.
-- Answers the beat written and the one found. Locks: beats (its own row), receipts by key (its own rows).
create or replace function carillon.write_beat(
  p_node uuid, p_seen bigint, p_seen_at bigint, p_tenants text[], p_minutes bigint[], p_books uuid[], p_counts bigint[],
  p_now timestamptz default null)
returns table (beat bigint, at bigint, timeline text, old_beat bigint, old_at bigint, old_timeline text)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_kept timestamptz;
begin
  select b.beat, b.at, b.timeline into old_beat, v_kept, old_timeline from carillon.beats b where b.node_id = p_node for update;
  beat := greatest(coalesce(old_beat, 0), coalesce(p_seen, 0)) + 1;
  timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  insert into carillon.beats as b (node_id, beat, at, timeline) values (p_node, beat, v_now, timeline)
  on conflict (node_id) do update set beat = excluded.beat, at = excluded.at, timeline = excluded.timeline;
  insert into carillon.receipts as r (tenant, minute, book, count)
  select i.tenant, carillon.at(i.minute), i.book, i.count
  from unnest(p_tenants, p_minutes, p_books, p_counts) i(tenant, minute, book, count)
  order by i.tenant, i.minute, i.book
  on conflict (tenant, minute, book) do update set count = greatest(r.count, excluded.count);
  if p_seen > coalesce(old_beat, 0) then
    insert into carillon.losses (found_at, node_id, kept_until, seen_until)
    values (v_now, p_node, coalesce(v_kept, '1970-01-01 00:00:00+00'), carillon.at(p_seen_at));
    insert into carillon.audit (at, tenant, actor, action, subject, detail)
    values (v_now, null, 'node', 'database.commits_lost', p_node::text, jsonb_build_object(
      'keptUntil', v_kept, 'seenUntil', carillon.at(p_seen_at), 'timeline', timeline));
  elsif old_timeline <> timeline then
    insert into carillon.audit (at, tenant, actor, action, subject, detail)
    values (v_now, null, 'node', 'database.promoted', p_node::text, jsonb_build_object('from', old_timeline, 'to', timeline));
  end if;
  at := carillon.ms(v_now);
  old_at := carillon.ms(v_kept);
  return next;
end $$;

-- What was acknowledged in each minute, beside what the ledger has of it, in one moment. As many minutes as hold about p_rows
-- submissions, at least one; no answer: there are no more.
-- Indexes: receipts_pkey or receipts_minute; executions_tenant or executions_pkey.
create or replace function carillon.verify_receipts(p_tenant text, p_from bigint, p_before bigint, p_rows bigint)
returns table (minute bigint, acknowledged bigint, kept bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_from timestamptz := carillon.at(p_from);
  v_before timestamptz := carillon.at(p_before);
begin
  return query
  with minutes as materialized (
    (select carillon.ms(r.minute) as minute, sum(r.count) as count from carillon.receipts r
     where p_tenant is null and r.minute >= v_from and r.minute < v_before group by r.minute order by r.minute limit 120)
    union all
    (select carillon.ms(r.minute), sum(r.count) from carillon.receipts r
     where r.tenant = p_tenant and r.minute >= v_from and r.minute < v_before group by r.minute order by r.minute limit 120)
  ), taken as materialized (
    select m.minute, m.count from (
      select m.minute, m.count,
        coalesce(sum(m.count) over (order by m.minute rows between unbounded preceding and 1 preceding), 0) before
      from minutes m) m
    where m.before < p_rows)
  select t.minute, t.count::bigint, k.count::bigint
  from taken t cross join lateral (
    select sum(c.count) as count from (
      select count(*) from carillon.executions e
      where p_tenant is null and e.execution_id >= carillon.first_id(t.minute)
        and e.execution_id < carillon.first_id(t.minute + 60000) and e.job_id = e.execution_id and e.origin = 'SUBMIT'
      union all
      select count(*) from carillon.executions e
      where e.tenant = p_tenant and e.execution_id >= carillon.first_id(t.minute)
        and e.execution_id < carillon.first_id(t.minute + 60000) and e.job_id = e.execution_id and e.origin = 'SUBMIT') c) k
  order by t.minute;
end $$;
