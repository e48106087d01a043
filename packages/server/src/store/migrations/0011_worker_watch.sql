-- Since when workers could be heard without a gap, by any node; see functions/extend_watch.sql. One row, HOT-updated once a
-- second by every node, always alone in its transaction.
create table carillon.worker_watch (
  singleton boolean primary key default true check (singleton),
  since timestamptz not null,
  until timestamptz not null
) with (fillfactor = 50);
