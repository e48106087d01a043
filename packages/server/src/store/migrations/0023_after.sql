-- Jobs that run after other jobs (type AFTER): each time an execution of the job they name has ended as they ask. Whatever ends an
-- execution writes a row of `submissions` for each of its followers, in its own transaction; the leader of the follower's shard fires it
-- after the commit, as it fires what a caller's transaction has enqueued. See docs/decisions/0061-jobs-after-jobs.md.
--
-- Lock order: followers with the job it belongs to, under the lock of its schedule.

alter table carillon.jobs add column after_job text collate "C", add column after_on text;
alter table carillon.job_versions add column after_job text collate "C", add column after_on text;

do $$
declare
  v_table text;
begin
  foreach v_table in array '{jobs, job_versions}'::text[] loop
    execute format('alter table carillon.%I drop constraint jobs_type_check, drop constraint jobs_one_time_field', v_table);
    execute format('alter table carillon.%I
      add constraint jobs_type_check check (type in (''ONE_SHOT'', ''DELAYED'', ''CRON'', ''INTERVAL'', ''AFTER'')) not valid,
      add constraint jobs_one_time_field check (
        (type = ''ONE_SHOT'') = (run_at is not null) and (type = ''DELAYED'') = (delay_ms is not null)
        and (type = ''CRON'') = (cron is not null) and (type = ''INTERVAL'') = ("interval" is not null and anchor is not null)
        and (type = ''AFTER'') = (after_job is not null and after_on is not null)) not valid', v_table);
  end loop;
end $$;

-- The jobs of type AFTER that are not DELETED, by what they follow. In a table of its own, so that an installation without any pays for a
-- look into an empty one.
create table carillon.followers (
  job_id uuid primary key,
  tenant text collate "C" not null,
  -- The id or the key of a job: see jobs.after_job.
  followed text collate "C" not null,
  on_end text not null check (on_end in ('SUCCEEDED', 'FAILED', 'ENDED'))
);
create index followers_followed on carillon.followers (tenant, followed);

-- The row is not a submission of its own, but an execution to come of this job; which execution it follows, and by what name.
alter table carillon.submissions add column job_id uuid, add column after_id uuid, add column after_job text;

-- They take or answer more than before.
drop function if exists carillon.trigger_job(uuid, uuid, bigint, bigint, text, text, timestamptz);
drop function if exists carillon.read_due_enqueued(smallint[], bigint, bigint, int, uuid[]);
