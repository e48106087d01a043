-- Has this JSON text more levels of objects and arrays than 96? It counts as packages/sdk/src/json.ts does.
-- Most documents have fewer containers than that in all. The others are asked as jsonb. What jsonb cannot hold (NUL, lone
-- surrogates, numbers beyond its range) is counted as text: without its strings a document is brackets and a few other characters;
-- then the innermost pair at every place is removed, once for each level.
-- [m] An array of 100 objects, on a busy machine: 260 µs as jsonb, 1,000 as text, 1,400 with a regular expression.
create or replace function carillon.is_nested_too_deep(p_json text) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_brackets text;
begin
  if octet_length(p_json) - octet_length(translate(p_json, '[{', '')) <= 96 then
    return false;
  end if;
  begin
    return p_json::jsonb @? 'strict $.**{96} ? (@.type() == "object" || @.type() == "array")';
  exception when data_exception or program_limit_exceeded then
    null;
  end;
  v_brackets := (
    select string_agg(t.part, '') from string_to_table(replace(replace(p_json, '\\', ''), '\"', ''), '"')
      with ordinality t(part, number) where t.number % 2 = 1);
  v_brackets := translate(v_brackets, E'{}0123456789+-.,:eEtrufalsn \t\n\r', '[]');
  for v_level in 1..96 loop
    v_brackets := replace(v_brackets, '[]', '');
    exit when v_brackets = '';
  end loop;
  return v_brackets <> '';
end $$;
