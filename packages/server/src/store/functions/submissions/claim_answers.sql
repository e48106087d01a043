-- Requests with an Idempotency-Key: the answer is written in the transaction that does what was asked for, before it. A
-- concurrent repeat waits for that transaction; then its key is taken, and it must do nothing but repeat the answer.
-- Returns which entries (counted from 1) were answered before. After 24 hours a key is free again.
-- Locks: idempotency by key, before anything else.
create or replace function carillon.claim_answers(
  p_tenants text[], p_routes text[], p_keys text[], p_hashes bytea[], p_answers text[], p_now timestamptz default null)
returns int[]
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_taken int[];
begin
  with wanted as (
    -- Of equal keys in one call the first counts.
    select distinct on (i.tenant collate "C", i.route collate "C", i.key collate "C") i.*
    from unnest(p_tenants, p_routes, p_keys, p_hashes, p_answers) with ordinality i(tenant, route, key, hash, answer, number)
    order by i.tenant collate "C", i.route collate "C", i.key collate "C", i.number
  ), written as (
    insert into carillon.idempotency as n (tenant, route, key, body_hash, answer, at)
    select w.tenant, w.route, w.key, w.hash, w.answer, v_now from wanted w
    order by w.tenant collate "C", w.route collate "C", w.key collate "C"
    on conflict (tenant, route, key) do update
      set body_hash = excluded.body_hash, answer = excluded.answer, at = excluded.at
      where n.at <= v_now - interval '24 hours'
    returning n.tenant, n.route, n.key)
  select array_agg(i.number::int) into v_taken
  from unnest(p_keys) with ordinality i(key, number)
  where not exists (
    select from wanted w join written x on x.tenant = w.tenant and x.route = w.route and x.key = w.key
    where w.number = i.number);
  return coalesce(v_taken, '{}');
end $$;

-- One request: true, if it was not answered before. p_entry: {tenant, route, key, hash (hex), answer}, or null.
create or replace function carillon.claim_answer(p_entry jsonb, p_now timestamptz default null) returns boolean
language sql volatile
  return p_entry is null or carillon.claim_answers(
    array[p_entry ->> 'tenant'], array[p_entry ->> 'route'], array[p_entry ->> 'key'],
    array[decode(p_entry ->> 'hash', 'hex')], array[p_entry ->> 'answer'], p_now) = '{}';

-- Gives back a key claimed in this transaction, when nothing came of what was asked for. Always true.
create or replace function carillon.unclaim_answer(p_entry jsonb) returns boolean
language plpgsql volatile
as $$
begin
  delete from carillon.idempotency n
  where n.tenant = p_entry ->> 'tenant' and n.route = p_entry ->> 'route' and n.key = p_entry ->> 'key';
  return true;
end $$;
