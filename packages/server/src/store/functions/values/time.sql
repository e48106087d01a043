-- Milliseconds since 1970, exact in both directions from 1970 to 9999. A double is not (to_timestamp() is one, and so is
-- a number times an interval): whole hours and the rest are multiplied apart, each small enough. Marked as their bodies
-- are, so that the planner can put the bodies in place of the calls.
create or replace function carillon.at(ms bigint) returns timestamptz
  language sql stable strict parallel safe
  return timestamptz '1970-01-01 00:00:00+00'
    + (ms / 3600000) * interval '1 hour' + (ms % 3600000) * interval '1 millisecond';

create or replace function carillon.ms(at timestamptz) returns bigint
  language sql immutable strict parallel safe
  return floor(extract(epoch from at - timestamptz '1970-01-01 00:00:00+00') * 1000)::bigint;

-- The smallest execution id of an instant: 48 bits of milliseconds, then zeros.
create or replace function carillon.first_id(ms bigint) returns uuid
  language sql immutable strict parallel safe
  return (lpad(to_hex(ms), 12, '0') || '00000000000000000000')::uuid;

-- The last two bytes of an id are random or a hash; domain/identity.ts computes the same.
create or replace function carillon.shard_of(id uuid, shard_count int) returns smallint
  language sql immutable strict parallel safe
  return (('x' || right(id::text, 4))::bit(16)::int % shard_count)::smallint;

-- The instant in an id, in milliseconds; domain/identity.ts computes the same.
create or replace function carillon.time_of(id uuid) returns bigint
  language sql immutable strict parallel safe
  return ('x' || lpad(replace(left(id::text, 13), '-', ''), 16, '0'))::bit(64)::bigint;

-- The ids of a call, and those of their runs, lie between these: named in a query, only the partitions of that range are opened. Each
-- partition that a plan opens costs 8 us. To be named where rows are looked up one by one (lateral, offset 0): the planner would make a join
-- of it that reads the whole range. Null, and so nothing, if there are none.
create or replace function carillon.range_of(p_ids uuid[], out low uuid, out high uuid)
language plpgsql immutable parallel safe
as $$
begin
  low := carillon.first_id(carillon.time_of((select i from unnest(p_ids) i order by i limit 1)));
  high := carillon.first_id(carillon.time_of((select i from unnest(p_ids) i order by i desc limit 1)) + 1);
end $$;
