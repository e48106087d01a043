-- Tenants that are declared, with the weight of their share. A tenant needs no row: one without has weight 1.
-- See docs/decisions/0063-tenants-and-weights.md.
--
-- Lock order: tenants by name; no other row is locked under it.

create table carillon.tenants (
  name text collate "C" primary key check (name <> ''),
  weight int not null default 1 check (weight between 1 and 1000),
  description text,
  version int not null default 1 check (version >= 1),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);

-- What nodes read every few seconds: empty where no tenant has a weight of its own.
create index tenants_weighted on carillon.tenants (name, weight) where weight <> 1;
