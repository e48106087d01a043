-- An execution's history with one entry more. It stays small however often an execution is tried: the first ten entries
-- and the newest forty are kept. A value that is not an array, written by hand, is replaced.
create or replace function carillon.with_entry(history jsonb, entry jsonb) returns jsonb
  language sql immutable parallel safe
  return case when jsonb_typeof(history) <> 'array' then '[]'
    when jsonb_array_length(history) >= 50 then history - 10 else coalesce(history, '[]') end || entry;

-- The entries since the last replay or backfill by a person; all of them if there was none.
create or replace function carillon.lately(p_history jsonb) returns setof jsonb
  language sql immutable parallel safe
begin atomic
  select h.entry from jsonb_array_elements(p_history) with ordinality h(entry, ordinal)
  where h.ordinal > coalesce((
    select max(b.ordinal) from jsonb_array_elements(p_history) with ordinality b(entry, ordinal)
    where b.entry ->> 'reason' in ('REPLAYED', 'BACKFILLED')), 0);
end;

-- The name of an error, by which executions are filtered and grouped; '': there is none.
create or replace function carillon.error_name(error jsonb) returns text
  language sql immutable parallel safe
  return left(coalesce(error ->> 'name', ''), 200);
