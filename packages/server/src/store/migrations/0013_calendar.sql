-- How a cron's two day fields combine, and one-shots asked for by a time on the clock of their zone. Nodes of the version
-- before go on working beside it: they write neither column.
--
-- The constraints are not checked against the rows that are there, which have the default: at ten million jobs that would
-- hold the table's lock for seconds.
alter table carillon.jobs
  add column day_fields text not null default 'EITHER',
  -- What run_at was asked for by: a wall clock of the zone. When the tz database changes, run_at is computed from it again.
  add column run_local text;
alter table carillon.jobs
  add constraint jobs_day_fields check (day_fields = 'EITHER' or day_fields = 'BOTH' and cron is not null) not valid,
  add constraint jobs_run_local check (run_local is null or run_at is not null) not valid;
alter table carillon.job_versions
  add column day_fields text not null default 'EITHER',
  add column run_local text;
