-- Jobs at rest and the quota that a tenant has for them.

create or replace function carillon.count_jobs_at_rest(p_tenant text, p_most bigint) returns bigint
language sql volatile
as $$
  select count(*) from (
    select from carillon.jobs j where j.tenant = p_tenant and j.state in ('ACTIVE', 'PAUSED') limit p_most) j
$$;

-- The tenant's row in job_counts, locked until the end of the transaction; null if it has no quota for jobs. Callers that lock anything of what
-- comes after it in the order call this first.
create or replace function carillon.lock_job_count(p_tenant text) returns carillon.job_counts
language plpgsql volatile
as $$
declare
  v_known carillon.job_counts;
begin
  if (select t.max_jobs from carillon.tenants t where t.name = p_tenant) is null then
    return null;
  end if;
  loop
    insert into carillon.job_counts (tenant) values (p_tenant) on conflict do nothing;
    select * into v_known from carillon.job_counts c where c.tenant = p_tenant for update;
    exit when found;   -- else the quota was changed meanwhile
  end loop;
  return v_known;
end $$;

-- Makes sure that a tenant may have p_more jobs at rest, before they are written in this transaction; raises CA002 if not. Exact: until
-- the end of the transaction no other one of the tenant gets jobs. Without a quota nothing is read but the tenant's row.
--
-- Jobs that end or are deleted are not subtracted, so that nothing else takes this lock: what is kept is an upper bound, and the jobs are
-- counted again when it is reached. For a minute after the quota was set they are always counted: by then every transaction that began
-- without it has ended.
-- Locks: the tenant's row in job_counts. Indexes: tenants_pkey, jobs_tenant.
-- [m] On a busy machine, with 100,000 jobs at rest: a count takes 24 to 33 ms, taking room between counts 0.03 to 0.07; without a quota 0.004.
create or replace function carillon.take_job_room(p_tenant text, p_more int) returns void
language plpgsql volatile
as $$
declare
  v_max int := (select t.max_jobs from carillon.tenants t where t.name = p_tenant);
  v_known carillon.job_counts;
  v_now timestamptz;
  v_count bigint;
  v_ms double precision;
begin
  if v_max is null then
    return;
  end if;
  v_known := carillon.lock_job_count(p_tenant);
  v_now := clock_timestamp();
  if v_known.at_most + p_more <= v_max and v_now > v_known.since + interval '1 minute' then
    update carillon.job_counts c set at_most = c.at_most + p_more where c.tenant = p_tenant;
    return;
  end if;
  v_count := case when v_now < v_known.counted_until and v_known.counted + p_more > v_max then v_known.counted end;
  if v_count is null then
    v_count := carillon.count_jobs_at_rest(p_tenant, v_max + 1);
    v_ms := extract(epoch from clock_timestamp() - v_now) * 1000;
  end if;
  if v_count + p_more > v_max then
    raise exception 'carillon: the tenant % may have % jobs', p_tenant, v_max using errcode = 'CA002',
      hint = 'Delete jobs that are not needed, or have the operator raise maxJobs.',
      detail = jsonb_build_object('quota', 'maxJobs', 'limit', v_max, 'tenant', p_tenant, 'counted', v_count, 'ms', v_ms)::text;
  end if;
  update carillon.job_counts c set at_most = v_count + p_more where c.tenant = p_tenant;
end $$;

-- Remembers the count of a refusal that has been rolled back: for twenty times as long as it took, so that a tenant that goes on asking
-- costs at most a twentieth of one connection. Jobs that fire for the last time in that time make room a little later.
create or replace function carillon.note_job_count(p_refusal jsonb) returns void
language sql volatile
as $$
  insert into carillon.job_counts as c (tenant, counted, counted_until)
  select r.tenant, r.counted, clock_timestamp() + r.ms * interval '20 milliseconds'
  from jsonb_to_record(p_refusal) r(tenant text, counted bigint, ms double precision) where r.ms > 2
  on conflict (tenant) do update set counted = excluded.counted, counted_until = excluded.counted_until
$$;

-- A job goes: the next one is not refused because of an earlier count. Writes nothing unless there was a refusal just now.
create or replace function carillon.forget_job_count(p_tenant text) returns void
language sql volatile
as $$
  update carillon.job_counts c set counted_until = null where c.tenant = p_tenant and c.counted_until > clock_timestamp()
$$;

-- Whether the tenant has as many jobs as it may; asked without a lock, by transactions that must not wait for others.
create or replace function carillon.has_all_its_jobs(p_tenant text) returns boolean
language plpgsql volatile
as $$
declare
  v_max int := (select t.max_jobs from carillon.tenants t where t.name = p_tenant);
begin
  return case when v_max is null then false else not exists (
      select from carillon.job_counts c
      where c.tenant = p_tenant and c.at_most < v_max and c.since < clock_timestamp() - interval '1 minute')
    and carillon.count_jobs_at_rest(p_tenant, v_max) >= v_max end;
end $$;
