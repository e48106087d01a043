-- Submissions with a dedupe key. The key's row names the holder; the caller read it, decided, and
-- passes what it saw. If that has changed, nothing is done and the caller decides again.

-- The execution of a submission. Its id is the submission's own, unless its time was changed before it fired.
create or replace function carillon.fired_as(p_id uuid) returns uuid
language sql stable
as $$
  select coalesce(
    (select e.execution_id from carillon.executions e where e.execution_id = p_id),
    (select e.execution_id from carillon.executions e
     where e.job_id = p_id and e.job_id <> e.execution_id and e.origin = 'SCHEDULE'
     order by e.execution_id desc limit 1))
$$;

-- Where a submission is: COMING (a one-shot that has not fired), PENDING, STARTED, ENDED; null: it is gone.
create or replace function carillon.standing(p_id uuid) returns text
language sql stable
as $$
  select case
    when exists (select from carillon.jobs j where j.job_id = p_id and j.state in ('ACTIVE', 'PAUSED')) then 'COMING'
    else (
      select case when e.state is not null then 'ENDED'
        when carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is not null then 'STARTED'
        when exists (select from carillon.retries t where t.execution_id = e.execution_id and t.state <> 'PENDING') then 'STARTED'
        else 'PENDING' end
      from carillon.executions e where e.execution_id = carillon.fired_as(p_id)) end
$$;

-- Gives the key to p_id if p_seen still holds it (null: no holder); p_seen is withdrawn if asked for.
-- False: the key has another holder by now, or what was to be withdrawn has started.
-- Locks: dedupes, then schedules, or executions and what end_pending locks.
create or replace function carillon.take_stand(
  p_tenant text, p_key text, p_seen uuid, p_withdraw boolean, p_id uuid, p_first_at bigint, p_window_until bigint,
  p_actor text, p_now timestamptz)
returns boolean
language plpgsql volatile
as $$
begin
  if p_seen is null then
    insert into carillon.dedupes (tenant, key, execution_id, first_at, window_until)
    values (p_tenant, p_key, p_id, carillon.at(p_first_at), carillon.at(p_window_until))
    on conflict (tenant, key) do nothing;
    return found;
  end if;
  perform from carillon.dedupes d
  where d.tenant = p_tenant and d.key = p_key and d.execution_id = p_seen for update;
  if not found or p_withdraw and not carillon.withdraw(p_seen, p_actor, p_now) then
    return false;
  end if;
  update carillon.dedupes d
  set execution_id = p_id, first_at = carillon.at(p_first_at), window_until = carillon.at(p_window_until)
  where d.tenant = p_tenant and d.key = p_key;
  return true;
end $$;

-- Takes back a submission that has not started: what is to come leaves the jobs, what is pending ends as CANCELLED
-- (REPLACED). False: it has started, ended, or is gone.
-- Holding its ledger row we keep REPORT away: it may be leased now, but not come back as a retry.
create or replace function carillon.withdraw(p_id uuid, p_actor text, p_now timestamptz) returns boolean
language plpgsql volatile
as $$
declare
  v_execution uuid;
begin
  perform from carillon.schedules s where s.job_id = p_id for update;
  if found then
    perform carillon.tell_jobs(array(select j.job_id from carillon.jobs j where j.job_id = p_id and j.state <> 'DELETED'),
      'job.deleted', p_actor, p_now);
    delete from carillon.jobs j where j.job_id = p_id and j.state <> 'DELETED';
    if found then
      delete from carillon.schedules s where s.job_id = p_id;
      return true;
    end if;
  end if;
  v_execution := carillon.fired_as(p_id);
  perform from carillon.executions e where e.execution_id = v_execution for no key update;
  if carillon.standing(p_id) is distinct from 'PENDING' then
    return false;
  end if;
  return carillon.end_pending(array[v_execution], '{CANCELLED}', '{REPLACED}', p_actor, p_now) = array[v_execution];
end $$;
