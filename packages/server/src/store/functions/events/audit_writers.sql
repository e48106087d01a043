-- The newest audit id that was given out, and who may still be about to commit one up to it: as event_writers, for the audit. An INSERT
-- locks the table before it takes its id, and lets go after its commit is visible, so every writer is found, whichever function or
-- transaction of a caller it is in.
create or replace function carillon.audit_writers(out last_id bigint, out writers text[])
language plpgsql volatile
as $$
begin
  select case when s.is_called then s.last_value else 0 end into last_id from carillon.audit_audit_id_seq s;
  writers := array(
    select k.virtualtransaction from pg_catalog.pg_locks k
    where k.locktype = 'relation' and k.relation = 'carillon.audit'::regclass and k.mode = 'RowExclusiveLock' and k.granted
      and k.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database()));
end $$;
