-- A node says that it could hear workers from p_from, the time of its last call, until now. Every node calls this once a
-- second, so the record goes on when the node that sweeps is killed and others went on hearing.
--
-- p_from: null at a node's first call. A node whose calls are further apart than the gap could hear no worker in between (it was
-- stopped, or the database was away): it begins anew, and so does the record if no other node went on. A jump of the
-- database's clock counts as a gap.
-- Returns what to pass as p_from next time, and for how long workers could be heard without a gap until now.
-- Locks: the row of worker_watch (SKIP LOCKED: another node is extending it at this moment), nothing else.
create or replace function carillon.extend_watch(p_from bigint, p_gap_ms float8, p_now timestamptz default null)
returns table (next_from bigint, watched_ms float8)
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_from timestamptz := carillon.at(p_from);
  v_gap interval := p_gap_ms * interval '1 millisecond';
begin
  next_from := carillon.ms(v_now);
  if v_from between v_now - v_gap and v_now then
    update carillon.worker_watch w
    set since = case when v_from <= w.until + v_gap and w.until <= v_now + v_gap then w.since else v_from end,
        until = v_now
    from (select singleton from carillon.worker_watch for update skip locked) free where w.singleton = free.singleton;
    if not found then
      insert into carillon.worker_watch (since, until) values (v_from, v_now) on conflict do nothing;
      next_from := p_from;
    end if;
  end if;
  select case when w.until between v_now - v_gap and v_now + v_gap
    then greatest(0, extract(epoch from v_now - w.since) * 1000) else 0 end
  into watched_ms from carillon.worker_watch w;
  watched_ms := coalesce(watched_ms, 0);
  return next;
end $$;
