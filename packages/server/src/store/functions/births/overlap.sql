-- What new executions of jobs that limit overlap may do, in the order of the input: READY, WAIT, SKIP, REPLACED (a newer
-- one of the same call takes its place), or BUSY: one that has to be cancelled is locked by a concurrent end, so the
-- job cannot go on now. The caller holds the schedule rows of the jobs, so two callers never decide at once, and writes
-- the ledger rows afterwards: what was decided earlier in a call counts for what comes later in it.
--
-- The live executions are locked before they are judged, those of all jobs in one go. A REPORT that is ending one either
-- committed before (it is not live any more) or waits for us and then, in a later statement, finds what we put into
-- `waiting`.
-- Locks: with p_wait leases by id, then executions by id, then see end_pending; leases (SKIP LOCKED).
-- Figures: [m] a FIRE of 1,000 FORBID jobs takes 78 to 91 ms of CPU at best; with three statements for each job 152 to 165.
create or replace function carillon.overlap_verdicts(
  p_jobs uuid[], p_ids uuid[], p_policies text[], p_wait boolean, p_now timestamptz) returns text[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_verdicts text[] := array_fill('READY'::text, array[cardinality(p_ids)]);
  v_live uuid[] := array(
    select l from carillon.schedules s cross join unnest(s.live) l where s.job_id = any (p_jobs));
  v_replaced uuid[] := array(
    select distinct l from unnest(p_jobs, p_policies) i(job_id, policy)
    join carillon.schedules s on s.job_id = i.job_id cross join unnest(s.live) l where i.policy = 'REPLACE');
  v_busy uuid[] := '{}';
  v_job record;
  v_open uuid[];
  v_waiting boolean;
  v_judged uuid[] := '{}';
  v_lives text[] := '{}';   -- of each an array, which an array of arrays cannot hold
begin
  if p_wait and cardinality(v_replaced) > 0 then
    perform carillon.hold_leases(array_agg(e.execution_id), array_agg(f.fence), false)
    from unnest(v_replaced) i(execution_id) join carillon.executions e on e.execution_id = i.execution_id
    cross join lateral (select carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) fence) f
    where e.state is null and f.fence is not null having count(*) > 0;
  end if;
  -- A join, not `= any`: only a join looks into the one partition that can hold the id.
  perform from unnest(v_live) l(execution_id) join carillon.executions e on e.execution_id = l.execution_id
  order by e.execution_id for no key update of e;
  if cardinality(v_replaced) > 0 then
    perform carillon.end_pending(v_replaced, array_fill('CANCELLED'::text, array[cardinality(v_replaced)]),
                                 array_fill('REPLACED'::text, array[cardinality(v_replaced)]), 'scheduler', p_now);
    perform carillon.flag_running(v_replaced, 'REPLACED', 'scheduler', p_now);
    v_busy := array(
      select e.execution_id from unnest(v_replaced) l(execution_id)
      join carillon.executions e on e.execution_id = l.execution_id
      where e.state is null
        and not exists (select from carillon.held(e) h where h.cancel_at is not null));
  end if;

  for v_job in
    select g.*, array(select e.execution_id from carillon.schedules s cross join unnest(s.live) l
                      join carillon.executions e on e.execution_id = l
                      where s.job_id = g.job_id and e.state is null and l <> all (g.ids) order by 1) open
    from (select i.job_id, i.policy, array_agg(i.execution_id order by i.ordinal) ids, array_agg(i.ordinal order by i.ordinal) ordinals
          from unnest(p_jobs, p_ids, p_policies) with ordinality i(job_id, execution_id, policy, ordinal)
          group by i.job_id, i.policy) g
  loop
    v_open := v_job.open;
    v_waiting := false;
    if v_job.policy = 'QUEUE_ONE' and cardinality(v_open) > 0 then
      v_waiting := exists (select from carillon.waiting w where w.execution_id = any (v_open) and w.tenant is null);
    end if;
    for i in 1..cardinality(v_job.ids) loop
      v_verdicts[v_job.ordinals[i]] := case
        when v_open && v_busy then 'BUSY'
        when v_job.policy = 'REPLACE' and i < cardinality(v_job.ids) then 'REPLACED'
        when cardinality(v_open) = 0 then 'READY'
        when v_job.policy = 'REPLACE' or v_job.policy = 'QUEUE_ONE' and not v_waiting then 'WAIT'
        else 'SKIP' end;
      if v_verdicts[v_job.ordinals[i]] in ('READY', 'WAIT') then
        v_waiting := v_verdicts[v_job.ordinals[i]] = 'WAIT';
        v_open := v_open || v_job.ids[i];
      end if;
    end loop;
    v_judged := v_judged || v_job.job_id;
    v_lives := v_lives || v_open::text;
  end loop;
  update carillon.schedules s set live = i.live::uuid[]
  from unnest(v_judged, v_lives) i(job_id, live) where s.job_id = i.job_id;
  return v_verdicts;
end $$;
