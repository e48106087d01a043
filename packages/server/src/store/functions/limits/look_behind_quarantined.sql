-- What waits for the same limits as rows that have gone into quarantine at this time may have their slots. Locks: its own rows.
create or replace function carillon.look_behind_quarantined(p_at timestamptz) returns void
language sql volatile
as $$
  insert into carillon.limit_changes (key, freed)
  select distinct q.content ->> 'key', 0 from carillon.quarantine q
  where q.source = 'waiting' and q.at = p_at and q.content ->> 'key' like 'limit:%'
$$;
