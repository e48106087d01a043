-- Shards whose leaders are elected outside of PostgreSQL. Nodes of the version before go on working beside it.
--
-- Which node leads a shard stays what this table says, and the epoch is counted here whatever elects. See
-- docs/decisions/0048-leadership-by-etcd.md.

alter table carillon.shards
  -- What elected the leader: the id of an etcd cluster. Null: the leases of nodes in PostgreSQL did.
  add column elector text,
  -- When, in the elector's own count: a later election has the larger number.
  add column revision bigint;

-- Tells installations apart that share another server.
alter table carillon.installation add column installation_id uuid not null default gen_random_uuid();
