-- The lists a policy may hold, by the rules of the API: packages/contract/src/schemas/job.ts.
create or replace function carillon.is_policy_list(p_key text, p_list jsonb) returns boolean
language sql immutable
return case
  when jsonb_typeof(p_list) <> 'array' then false
  when p_key = 'limits' then jsonb_array_length(p_list) <= 4 and not exists (
    select from jsonb_array_elements(p_list) n where jsonb_typeof(n) <> 'string' or length(n #>> '{}') not between 1 and 600
      or n #>> '{}' ~ '[\u0001-\u001f\u007f]')
  when p_key = 'retryPolicy.delaysMs' then jsonb_array_length(p_list) <= 1000
    and not p_list @? 'strict $[*] ? (@.type() != "number" || @.floor() != @ || @ < 0 || @ > 31622400000)'
  else jsonb_array_length(p_list) <= 100 and not exists (
    select from jsonb_array_elements(p_list) n where jsonb_typeof(n) <> 'string' or length(n #>> '{}') not between 1 and 200
      or n #>> '{}' ~ '[\u0001-\u001f\u007f]') end;

-- Refuses an invalid policy: found when the execution fires, it would have to be quarantined. Takes and refuses
-- what the API does (test/outside/policies.test.ts); a whole number may be written 5.0, and means 5 wherever it is read.
create or replace function carillon.check_policy(p_policy jsonb) returns void
language plpgsql immutable
as $$
declare
  v_key text;
  v_words text;
  v_given text;
begin
  if jsonb_typeof(p_policy) <> 'object' or jsonb_typeof(coalesce(p_policy -> 'retryPolicy', '{}')) <> 'object' then
    raise exception 'carillon.enqueue: policy and its retryPolicy must be JSON objects' using errcode = '22023',
      hint = 'Such as {"timeoutSec": 60, "retryPolicy": {"maxAttempts": 3}}.';
  end if;
  with given as (
    select f.key, f.value from jsonb_each(p_policy) f where f.key <> 'retryPolicy'
    union all
    select 'retryPolicy.' || f.key, f.value from jsonb_each(p_policy -> 'retryPolicy') f
  ), numbers (key, low, high, whole) as (values
    ('timeoutSec', 0.001, 31622400, false), ('deadlineSec', 1, 31622400, true), ('startWithinSec', 1, 31622400, true),
    ('heartbeatTimeoutSec', 1, 31622400, true), ('unknownHandlerSec', 0, 31622400, true),
    ('cancelGraceSec', 0, 3600, true), ('retryPolicy.maxAttempts', 1, 10000, true), ('retryPolicy.factor', 1, 100, false),
    ('retryPolicy.initialDelayMs', 0, 31622400000, true), ('retryPolicy.maxDelayMs', 0, 31622400000, true),
    ('retryPolicy.jitter', 0, 1, false)
  ), rules (key, words, path) as (
    select n.key, format('a %snumber from %s to %s', case when n.whole then 'whole ' else '' end, n.low, n.high),
      format('strict $ ? (@ >= %s && @ <= %s%s)', n.low, n.high, case when n.whole then ' && @.floor() == @' else '' end)
    from numbers n
    union all values
    ('delivery', 'AT_LEAST_ONCE or AT_MOST_ONCE', 'strict $ ? (@ == "AT_LEAST_ONCE" || @ == "AT_MOST_ONCE")'),
    ('retryPolicy.backoff', 'EXPONENTIAL, LINEAR or FIXED',
      'strict $ ? (@ == "EXPONENTIAL" || @ == "LINEAR" || @ == "FIXED")'),
    ('limits', 'an array of at most 4 limits, each of 1 to 600 characters', null),
    ('retryPolicy.delaysMs', 'an array of at most 1000 whole numbers from 0 to 31622400000', null),
    ('retryPolicy.nonRetryableErrors', 'an array of at most 100 names, each of 1 to 200 characters', null))
  select g.key, left(g.value::text, 100), coalesce('must be ' || r.words, 'is not known')
  into v_key, v_given, v_words
  from given g left join rules r on r.key = g.key
  where case when r.key is null then true when r.path is null then not carillon.is_policy_list(g.key, g.value)
    else not g.value @? r.path::jsonpath end
  order by g.key limit 1;
  if v_key is not null then
    raise exception 'carillon.enqueue: policy.% %', v_key, v_words using errcode = '22023',
      hint = format('It is %s. Known are timeoutSec, deadlineSec, startWithinSec, heartbeatTimeoutSec, cancelGraceSec, '
        'unknownHandlerSec, delivery, limits, and in retryPolicy maxAttempts, backoff, initialDelayMs, factor, maxDelayMs, jitter, '
        'delaysMs, nonRetryableErrors.', v_given);
  end if;
end $$;
