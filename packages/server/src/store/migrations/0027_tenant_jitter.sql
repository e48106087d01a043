-- The default jitter of a tenant's schedules: of jobs that say none. breaking: no
--
-- Null: none. A job keeps what it was given when its schedule was defined; see docs/guides/tenants.md.
alter table carillon.tenants add column jitter_sec int check (jitter_sec > 0);
