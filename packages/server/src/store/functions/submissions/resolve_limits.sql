-- The keys of the limits that a policy names, as jobs/limit-keys.ts finds them: what stands in braces is taken from the payload. Raises
-- 22023 for a limit that is not declared for keys, by the tenant or the installation, and for a field that is not there.
create or replace function carillon.resolve_limits(p_tenant text, p_limits jsonb, p_payload json) returns jsonb
language plpgsql stable
as $$
declare
  v_asked text;
  v_name text;
  v_rest text;
  v_key text;
  v_part text;
  v_keys text[] := '{}';
begin
  for v_asked in select jsonb_array_elements_text(p_limits) loop
    v_name := split_part(v_asked, ':', 1);
    v_rest := substr(v_asked, length(v_name) + 2);
    if v_name = '' or v_name ~ '[{}]' or (v_rest = '' and v_asked <> v_name) then
      raise exception 'carillon.enqueue: % in policy.limits is not a limit and its key', v_asked using errcode = '22023',
        hint = 'Such as acct or acct:{payload.accountId}.';
    elsif not exists (select from carillon.limits l
        where l.scope = 'KEY' and l.name = v_name and (l.tenant is null or l.tenant = p_tenant)) then
      raise exception 'carillon.enqueue: there is no limit % for keys', v_name using errcode = '22023',
        hint = 'Check its name, or declare it: carillon limits put.';
    end if;
    v_key := '';
    for v_part in select m[1] from regexp_matches(v_rest, '\{[^{}]*\}|[^{}]+|[{}]', 'g') m loop
      v_key := v_key || case when v_part ~ '[{}]' then carillon.in_payload(v_name, v_part, p_payload) else v_part end;
    end loop;
    if v_asked <> v_name and (length(v_key) not between 1 and 200 or v_key ~ '[\u0001-\u001f\u007f]') then
      raise exception 'carillon.enqueue: the key of the limit % must have 1 to 200 characters, and no control characters', v_name
        using errcode = '22023', hint = 'Use an id of what is counted.';
    end if;
    v_key := v_name || case when v_asked = v_name then '' else ':' || v_key end;
    if v_key <> all (v_keys) then
      v_keys := v_keys || v_key;
    end if;
  end loop;
  return to_jsonb(v_keys);
end $$;

-- What the payload has at a place such as {payload.lines.0.id}: a text without its quotes, a number, true or false as it is written.
create or replace function carillon.in_payload(p_limit text, p_place text, p_payload json) returns text
language plpgsql immutable
as $$
declare
  v_value json := btrim(p_payload::text, E' \t\n\r');
  v_name text;
begin
  if p_place !~ '^\{payload(\.[^.{}]+)*\}$' then
    raise exception 'carillon.enqueue: % of the limit % is not a place in the payload', p_place, p_limit using errcode = '22023',
      hint = 'Such as {payload.accountId} or {payload.lines.0.id}.';
  end if;
  begin
    foreach v_name in array (string_to_array(trim(both '{}' from p_place), '.'))[2:] loop
      v_value := case json_typeof(v_value)
        when 'object' then v_value -> v_name
        when 'array' then case when v_name ~ '^(0|[1-9][0-9]{0,8})$' then v_value -> v_name::int end end;
    end loop;
    if json_typeof(v_value) in ('string', 'number', 'boolean') then
      return v_value #>> '{}';
    end if;
  -- Of characters that no text of the database can have.
  exception when untranslatable_character or invalid_text_representation then
    v_value := null;
  end;
  raise exception 'carillon.enqueue: % of the limit % is %', p_place, p_limit,
    coalesce(nullif(json_typeof(v_value), 'null'), 'not there') using errcode = '22023',
    hint = 'Give the field a text, a number, true or false, or leave out the limit.';
end $$;
