-- The answer to a batch is a long text, written with every one that names an Idempotency-Key. Of the CPU of whole lives pglz
-- took 2 % of PostgreSQL's. A server built without lz4 keeps it.
do $$
begin
  alter table carillon.idempotency alter column answer set compression lz4;
exception when feature_not_supported then null;
end $$;
