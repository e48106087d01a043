-- What the verifier has found besides occurrences that are missing or doubled, and what nodes have acknowledged, so that it can be
-- counted. Nodes of the version before go on working beside it; their verifier pauses until they are replaced.
--
-- Lock order: receipts by key and beats after everything else; each in a transaction of its own.

alter table carillon.verification
  -- Since the installation is watched: executions that should have ended and had not, rows that cannot be true, and submissions that
  -- were acknowledged and are not in the ledger.
  add column stuck bigint not null default 0,
  add column wrong bigint not null default 0,
  add column lost bigint not null default 0,
  -- Executions that should have ended, or moved on, when somebody last looked.
  add column stuck_now int not null default 0;

-- How many submissions a node has acknowledged, by tenant and by the minute that their ids name. Written after the acknowledgement,
-- so the ledger never has fewer. `book` is one node's for some minutes: it writes whole counts, never differences, so writing
-- them again changes nothing.
create table carillon.receipts (
  tenant text collate "C" not null,
  minute timestamptz not null,
  book uuid not null,
  count bigint not null check (count > 0),
  primary key (tenant, minute, book)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index receipts_minute on carillon.receipts (minute);

-- One beat of each node a second, counted. A node that finds fewer beats than it was told of knows that the database has lost what
-- was committed: a replica that was behind was promoted, or an older state was restored.
create table carillon.beats (
  node_id uuid primary key,
  beat bigint not null,
  at timestamptz not null,
  timeline text not null
) with (fillfactor = 50);

-- What nodes found to be lost: everything committed after `kept_until` and up to `seen_until`.
create table carillon.losses (
  loss_id bigint generated always as identity primary key,
  found_at timestamptz not null,
  node_id uuid not null,
  kept_until timestamptz not null,
  seen_until timestamptz not null
);

-- They answer more than they did.
drop function if exists carillon.verify_jobs(text, uuid, uuid, int, bigint, bigint);
drop function if exists carillon.verify_ledger(uuid[], uuid[], uuid[], int);
drop function if exists carillon.verify_reaches(uuid[], uuid[]);
drop function if exists carillon.verify_ids(text, uuid, uuid, uuid, int);
