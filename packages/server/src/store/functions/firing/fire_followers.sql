-- Makes executions of what follow_ends has left: the part of FIRE of submissions that is about jobs of type AFTER. p_places: rows of
-- `submissions`, which the caller has locked; p_tags: their tags. Answers the ids of those that are done with and, of each lane, what
-- became ready.
--
-- The job is as it is now, not as it was when the other one ended: deleted, nothing runs; paused, or made to follow another job, it is on
-- record as SKIPPED. One that has moved to another pool or lane since its tag was reserved waits for a tag of that lane.
-- Locks: schedules by id, then see trigger_job.
create or replace function carillon.fire_followers(p_places tid[], p_tags bigint[], p_now timestamptz, out moved uuid[], out queued jsonb)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_row record;
  v_job record;
  v_verdict text;
begin
  moved := '{}';
  queued := '[]';
  perform from (
    select u.job_id from unnest(p_places) p(place) cross join lateral (
      select x.job_id from carillon.submissions x where x.ctid = p.place offset 0) u) u
  join carillon.schedules s on s.job_id = u.job_id order by s.job_id for update of s;
  for v_row in
    select u.*, p.tag from unnest(p_places, p_tags) p(place, tag)
    cross join lateral (select * from carillon.submissions x where x.ctid = p.place offset 0) u order by u.execution_id
  loop
    select j.state, j.pool, j.lane, j.after_job into v_job from carillon.jobs j where j.job_id = v_row.job_id and j.state <> 'DELETED';
    if found and (v_job.pool, v_job.lane) is distinct from (v_row.pool, v_row.lane) then
      update carillon.submissions u set pool = v_job.pool, lane = v_job.lane where u.execution_id = v_row.execution_id;
      continue;
    elsif found then
      v_verdict := carillon.trigger_job(v_row.job_id, v_row.execution_id, carillon.ms(v_row.run_at), v_row.tag, null, v_row.traceparent, p_now,
        p_after => v_row.after_id, p_given => v_row.payload,
        p_skip => case when v_job.after_job is distinct from v_row.after_job then 'EDITED' when v_job.state = 'PAUSED' then 'PAUSED' end);
      if v_verdict = 'READY' then
        queued := queued || jsonb_build_array(jsonb_build_array(v_row.pool, v_row.lane, v_row.tag, 1));
      end if;
    end if;
    moved := moved || v_row.execution_id;
  end loop;
end $$;
