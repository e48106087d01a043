-- Since when a job has its definition, if not since its creation, and who gave it. Null in rows that are there already. Nodes of the
-- version before go on working beside it: they create and change jobs by functions, which write both columns.
alter table carillon.jobs
  add column defined_at timestamptz,
  add column defined_by text;
alter table carillon.job_versions
  add column defined_at timestamptz,
  add column defined_by text;
-- It has another argument now; only create_work calls it.
drop function if exists carillon.create_jobs(jsonb);
