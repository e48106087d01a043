-- A further kind of operation: COPY submits executions again into another pool. Nodes of the version before go on working beside it:
-- the function by which they take up operations passes over kinds that they do not know.

alter table carillon.operations drop constraint operations_kind_check;
alter table carillon.operations add constraint operations_kind_check
  check (kind in ('CANCEL', 'RETRY', 'PURGE', 'BACKFILL', 'COPY'));
