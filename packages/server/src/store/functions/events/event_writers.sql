-- The newest event id that was given out, and who may still be about to write one up to it.
--
-- Ids come from a sequence, so a smaller one may be committed after a larger one, or never. Every writer of events holds
-- ROW EXCLUSIVE on the table from before it takes its first id until it ends, and is visible before it lets go. So once all
-- `writers` are gone, every event up to `last_id` is there or never will be; and every change that did not see yet who
-- listens when this was asked has ended. The id is read before the locks: the order matters.
--
-- No snapshot of the server is asked for: transactions that write no events, however long they stay open, are not in it.
create or replace function carillon.event_writers(out last_id bigint, out writers text[])
language plpgsql volatile
as $$
begin
  select case when s.is_called then s.last_value else 0 end into last_id from carillon.events_event_id_seq s;
  writers := array(
    select k.virtualtransaction from pg_catalog.pg_locks k
    where k.locktype = 'relation' and k.relation = 'carillon.events'::regclass and k.mode = 'RowExclusiveLock' and k.granted
      and k.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database()));
end $$;
