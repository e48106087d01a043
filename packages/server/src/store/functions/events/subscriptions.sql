-- Subscriptions: created, ended, and what is dropped before it was delivered.

-- Creates a subscription unless it is there; answers whether it was created. p_position null: it begins when every transaction under way
-- knows of it, see store/events/subscriptions.ts.
-- Locks: subscriptions, then event_listeners.
create or replace function carillon.subscribe(
  p_name text, p_source text, p_types text[], p_position bigint, p_actor text, p_now timestamptz)
returns boolean
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
  if exists (select from carillon.subscriptions s where s.name = p_name and s.source = p_source) then
    return false;
  end if;
  lock table carillon.subscriptions in share row exclusive mode;
  insert into carillon.subscriptions (name, source, types, position, created_at)
  values (p_name, p_source, p_types, p_position, v_now) on conflict do nothing;
  if not found then
    return false;
  end if;
  if p_source = 'EVENTS' then
    insert into carillon.event_listeners (tenant, until) values (U&'\001f', 'infinity') on conflict do nothing;
  end if;
  insert into carillon.audit (at, actor, action, subject, detail)
  values (v_now, p_actor, 'subscription.created', p_name, jsonb_build_object('source', p_source));
  return true;
end $$;

-- Ends a subscription to all of its sources; answers whether there was one.
-- Locks: subscriptions, then event_listeners.
create or replace function carillon.unsubscribe(p_name text, p_actor text, p_now timestamptz) returns boolean
language plpgsql volatile
as $$
begin
  lock table carillon.subscriptions in share row exclusive mode;
  delete from carillon.subscriptions s where s.name = p_name;
  if not found then
    return false;
  end if;
  delete from carillon.event_listeners l
  where l.tenant = U&'\001f' and not exists (select from carillon.subscriptions s where s.source = 'EVENTS');
  insert into carillon.audit (at, actor, action, subject)
  values (coalesce(p_now, clock_timestamp()), p_actor, 'subscription.deleted', p_name);
  return true;
end $$;

-- Rows of a source are being removed up to p_up_to: subscriptions that have not delivered them get a gap, in the transaction that removes
-- them. p_ids: those that are removed. Answers which, and from where on.
-- Locks: subscriptions by key.
create or replace function carillon.record_gaps(p_source text, p_up_to bigint, p_ids bigint[])
returns table (name text, after bigint, up_to bigint, dropped bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
  return query
  with behind as (
    select s.name, s.position, (select count(*) from unnest(p_ids) i where i > s.position) dropped
    from carillon.subscriptions s where s.source = p_source and s.position < p_up_to order by s.name for update of s
  )
  update carillon.subscriptions s
  set position = p_up_to, dropped = s.dropped + b.dropped,
    gaps = s.gaps + (b.dropped > 0 and s.gap_after is null)::int,
    gap_after = case when b.dropped > 0 then coalesce(s.gap_after, b.position) else s.gap_after end,
    gap_up_to = case when b.dropped > 0 then p_up_to else s.gap_up_to end
  from behind b where s.name = b.name and s.source = p_source
  returning s.name, b.position, s.position, b.dropped;
end $$;

-- Removes events, oldest first, of the oldest p_limit: those that every subscription has, once they are older than p_kept, or at once if
-- only subscriptions listen; and those that one does not have, once they are older than p_undelivered_kept or more than
-- p_undelivered_most ids were given out after them. Says in the same transaction from where on events are complete.
-- Locks: events, then subscriptions, then event_listeners. Index: events_pkey.
create or replace function carillon.prune_events(
  p_limit int, p_kept interval, p_undelivered_kept interval, p_undelivered_most bigint, p_now timestamptz, out removed int, out gaps jsonb)
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_delivered bigint := (select min(s.position) from carillon.subscriptions s where s.source = 'EVENTS');
  v_listened boolean := v_delivered is null or exists (select from carillon.event_listeners l where l.tenant <> U&'\001f');
  v_last bigint := (select q.last_value from carillon.events_event_id_seq q);
  v_bound bigint;
  v_ids bigint[];
begin
  select max(o.event_id) into v_bound
  from (select e.event_id, e.at from carillon.events e order by e.event_id limit p_limit) o
  where case when v_delivered is null or o.event_id <= v_delivered then not v_listened or o.at < v_now - p_kept
             else o.at < v_now - p_undelivered_kept or o.event_id <= v_last - p_undelivered_most end;
  if v_bound is null then
    removed := 0;
    return;
  end if;
  with gone as (
    delete from carillon.events e where e.event_id <= v_bound returning e.event_id)
  select array_agg(g.event_id) into v_ids from gone g;
  removed := coalesce(cardinality(v_ids), 0);
  if v_bound > v_delivered then
    select jsonb_agg(to_jsonb(g)) into gaps from carillon.record_gaps('EVENTS', v_bound, v_ids) g where g.dropped > 0;
  end if;
  with heard as (
    select l.tenant from carillon.event_listeners l where l.since_event_id < v_bound order by l.tenant for update of l)
  update carillon.event_listeners l set since_event_id = v_bound from heard where l.tenant = heard.tenant;
end $$;
