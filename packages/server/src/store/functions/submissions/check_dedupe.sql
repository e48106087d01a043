-- Refuses a dedupe that a node would refuse after the commit. The same rules as submissions/dedupe.ts.
create or replace function carillon.check_dedupe(p_dedupe jsonb) returns void
language plpgsql immutable
as $$
declare
  v_key text;
  v_words text;
begin
  if jsonb_typeof(p_dedupe) <> 'object' or jsonb_typeof(p_dedupe -> 'key') is distinct from 'string' then
    raise exception 'carillon.enqueue: dedupe must be a JSON object with a key' using errcode = '22023',
      hint = 'Such as {"key": "invoice:42", "onDuplicate": "REPLACE"}.';
  end if;
  with rules (key, words, path) as (values
    ('key', 'a text of 1 to 200 characters without control characters', 'strict $ ? (@.type() == "string")'),
    ('while', 'PENDING or UNFINISHED', 'strict $ ? (@ == "PENDING" || @ == "UNFINISHED")'),
    ('onDuplicate', 'KEEP, REPLACE or DEBOUNCE', 'strict $ ? (@ == "KEEP" || @ == "REPLACE" || @ == "DEBOUNCE")'),
    ('windowSec', 'a whole number from 1 to 31622400', 'strict $ ? (@ >= 1 && @ <= 31622400 && @.floor() == @)'),
    ('maxWaitSec', 'a whole number from 1 to 31622400', 'strict $ ? (@ >= 1 && @ <= 31622400 && @.floor() == @)'))
  select g.key, coalesce('must be ' || r.words, 'is not known') into v_key, v_words
  from jsonb_each(p_dedupe) g left join rules r on r.key = g.key
  where r.key is null or not g.value @? r.path::jsonpath or g.key = 'key'
    and (length(g.value #>> '{}') not between 1 and 200 or g.value #>> '{}' ~ '[\u0001-\u001f\u007f]')
  order by g.key limit 1;
  if v_key is null and p_dedupe ? 'maxWaitSec' and p_dedupe ->> 'onDuplicate' is distinct from 'DEBOUNCE' then
    v_key := 'maxWaitSec';
    v_words := 'goes with onDuplicate DEBOUNCE';
  end if;
  if v_key is not null then
    raise exception 'carillon.enqueue: dedupe.% %', v_key, v_words using errcode = '22023',
      hint = 'Known are key, while, onDuplicate, windowSec and maxWaitSec.';
  end if;
end $$;
