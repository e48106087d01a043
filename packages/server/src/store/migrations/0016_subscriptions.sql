-- Subscriptions: listeners to events and audit that are always there and go on where they stopped. Nodes of the version before go on
-- working beside it.
--
-- While a subscription to EVENTS exists, changes of every tenant write their events: event_listeners then has a row for U+001F, which no
-- tenant is called, without end. So whether anybody listens is still one question to one table.
--
-- Lock order: subscriptions by name and source, after events; event_listeners after it.

create table carillon.subscriptions (
  name text collate "C" not null check (name <> ''),
  source text collate "C" not null check (source in ('EVENTS', 'AUDIT')),
  -- The types of events that it wants; null: all.
  types text[] collate "C",
  -- Everything up to this id was delivered or dropped. Null: it has begun, and changes may be under way that do not know it yet.
  position bigint,
  -- Ids after the first and up to the second were dropped before they were delivered, and the subscriber has not been told so.
  gap_after bigint,
  gap_up_to bigint,
  -- Since it was created: gaps, and rows that were dropped undelivered.
  gaps bigint not null default 0,
  dropped bigint not null default 0,
  created_at timestamptz not null,
  -- The node that has served it last, and when.
  served_by text,
  served_at timestamptz,
  primary key (name, source),
  check ((gap_after is null) = (gap_up_to is null))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

drop function if exists carillon.tell_started(uuid[], timestamptz);
