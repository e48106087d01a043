-- Log lines of handlers: with the outcome, and before it while the handler runs. append_lines is the one place that writes them.
--
-- The lines that are logged under a fence are numbered from 0. What comes before the outcome says how many lines came before it; the outcome brings
-- all of them once more. So a line that is there already is not written again, whatever was lost or repeated on the way, and what
-- was not taken for any reason comes with the outcome. Bounds, under one fence: 1,000 lines and 64 KiB, then a note that says so.
-- Of an execution, over all attempts: the latest 256 KiB.

-- p_attempts: which attempt logged them. p_texts: lines with a line feed after each. p_firsts: how many lines under this fence came before; null: none. p_times:
-- milliseconds with commas between them; null: p_now.
-- The caller holds the leases, so nobody else writes lines of these executions, and names no id twice.
-- Locks: none. Index: log_lines_pkey.
create or replace function carillon.append_lines(
  p_now timestamptz, p_ids uuid[], p_fences bigint[], p_attempts int[], p_texts text[], p_firsts int[] default null,
  p_times text[] default null) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_note constant text := '[the log was cut here: an attempt keeps 1,000 lines and 64 KiB]';
  v_closed constant int := 1000000;
  v_now constant bigint := carillon.ms(p_now);
  v_long record;
begin
  with written as (
    insert into carillon.log_lines as w (execution_id, position, fence, attempt, fence_lines, fence_bytes, total_bytes, times, lines)
    select i.id, coalesce(n.position, 0) + cardinality(t.lines), i.fence, i.attempt,
      case when k.cut then v_closed else b.lines + cardinality(t.lines) end, b.bytes + t.bytes, coalesce(n.total_bytes, 0) + t.bytes,
      t.times, t.lines
    from unnest(p_ids, p_fences, p_attempts, p_texts, p_firsts, p_times) i(id, fence, attempt, said, first, times)
    left join lateral (
      select l.position, l.fence, l.fence_lines, l.fence_bytes, l.total_bytes from carillon.log_lines l
      where l.execution_id = i.id order by l.position desc limit 1) n on true
    cross join lateral (
      select trim_array(string_to_array(i.said, E'\n'), 1) said, case when n.fence = i.fence then n.fence_lines else 0 end lines,
        case when n.fence = i.fence then n.fence_bytes else 0 end bytes, coalesce(i.first, 0) first offset 0) b
    -- The ordinary case: all of them are new, within the bounds, and of one time. Then they are not taken apart.
    cross join lateral (
      select b.lines = 0 and i.times is null and cardinality(b.said) <= 1000 and octet_length(i.said) <= 65536 whole offset 0) o
    cross join lateral (
      select array_agg(case when u.kept then u.line else v_note end order by u.number) lines, array_agg(u.time order by u.number) times,
        sum(octet_length(case when u.kept then u.line else v_note end) + 1)::int bytes, coalesce(bool_or(not u.kept), false) cut
      from (
        -- Of what is beyond the bounds the first becomes the note, and the rest is left out.
        select s.*, row_number() over (partition by s.kept order by s.number) nth from (
          select t.line, t.number, coalesce(t.time, v_now) as time, b.first + t.number <= 1000
            and b.bytes + sum(octet_length(t.line) + 1) over (order by t.number) - octet_length(t.line) - 1 < 65536 kept
          from unnest(b.said, string_to_array(i.times, ',', '')::bigint[]) with ordinality t(line, time, number)
          where not o.whole and t.line is not null and b.first + t.number > b.lines) s) u
      where u.kept or u.nth = 1) k
    cross join lateral (
      select case when o.whole then b.said else k.lines end lines, case when o.whole then octet_length(i.said) else k.bytes end bytes,
        case when o.whole then array_fill(v_now, array[cardinality(b.said)]) else k.times end times) t
    where b.first <= b.lines and t.lines is not null
    returning w.execution_id, w.total_bytes)
  select array_agg(w.execution_id) ids, array_agg(w.total_bytes) totals into v_long from written w where w.total_bytes > 262144;
  if v_long.ids is not null then
    delete from carillon.log_lines l using unnest(v_long.ids, v_long.totals) w(id, total)
    where l.execution_id = w.id and l.execution_id = any (v_long.ids) and l.total_bytes <= w.total - 262144;
  end if;
end $$;

-- What handlers have logged that still run. Answers for each entry how many lines are there under its fence; null: the lease does not hold
-- (another has the execution, or it has ended) or is locked at this moment. Locks: leases by id (SKIP LOCKED).
create or replace function carillon.store_lines(
  p_ids uuid[], p_fences bigint[], p_firsts int[], p_texts text[], p_times text[], p_now timestamptz default null) returns int[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_numbers int[] := carillon.hold_leases(p_ids, p_fences, true);
begin
  perform carillon.append_lines(coalesce(p_now, clock_timestamp()), array_agg(p_ids[m]), array_agg(p_fences[m]), array_agg(e.attempt + 1),
    array_agg(p_texts[m]), array_agg(p_firsts[m]), array_agg(p_times[m]))
  from unnest(v_numbers) m cross join lateral (select x.attempt from carillon.executions x where x.execution_id = p_ids[m] offset 0) e
  having count(*) > 0;
  return array(
    select case when i.number = any (v_numbers) then coalesce((
      select case when l.fence = i.fence then l.fence_lines else 0 end from carillon.log_lines l
      where l.execution_id = i.id order by l.position desc limit 1), 0) end
    from unnest(p_ids, p_fences) with ordinality i(id, fence, number) order by i.number);
end $$;
