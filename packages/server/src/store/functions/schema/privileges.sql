-- Who may do what in the database. CREATE FUNCTION grants EXECUTE to PUBLIC; that is revoked here for every function of the schema,
-- and the group roles, where they exist, get what they need. Run by the owner whenever functions or tables have changed.
-- docs/guides/database-roles.md has the table; test/outside/database-roles.test.ts walks every table and function.
create or replace function carillon.grant_roles() returns void
language plpgsql volatile
as $$
declare
  -- Rights on a partitioned table cover its partitions.
  v_tables text[] := array(
    select c.relname from pg_catalog.pg_class c
    where c.relnamespace = 'carillon'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by c.relname);
  -- What only the owner sets. A node that may write the rest of these tables has it granted below.
  v_owners text[] := '{api_keys, audit, function_texts, installation, migrations, secrets, sql_tenants}';
  v_table text;
begin
  revoke execute on all functions in schema carillon from public;

  if to_regrole('carillon_node') is not null then
    grant usage on schema carillon to carillon_node;
    grant execute on all functions in schema carillon to carillon_node;
    revoke execute on function carillon.grant_roles(), carillon.allow_tenant(text, text), carillon.forbid_tenant(text, text),
      carillon.set_audit_retention(int) from carillon_node;
    grant usage, select on all sequences in schema carillon to carillon_node;
    foreach v_table in array v_tables loop
      execute format('grant select on carillon.%I to carillon_node', v_table);
      if v_table <> all (v_owners) then
        execute format('grant insert, update, delete on carillon.%I to carillon_node', v_table);
      end if;
    end loop;
    grant insert on carillon.audit to carillon_node;
    execute (
      select format('grant update (%s) on carillon.installation to carillon_node', string_agg(quote_ident(a.attname), ', '))
      from pg_catalog.pg_attribute a
      where a.attrelid = 'carillon.installation'::regclass and a.attnum > 0 and not a.attisdropped
        and a.attname <> all ('{singleton, shard_count, partition_hours, retention_days, audit_retention_days, created_at}'));
    insert into carillon.sql_tenants (role, tenant) values ('carillon_node', null) on conflict do nothing;
  end if;

  if to_regrole('carillon_enqueue') is not null then
    grant usage on schema carillon to carillon_enqueue;
    grant execute on function
      carillon.enqueue(text, json, text, text, text, timestamptz, jsonb, jsonb, text, text, jsonb),
      carillon.enqueue_run(text, json, text, text, timestamptz, jsonb, text, text),
      carillon.enqueued(uuid) to carillon_enqueue;
  end if;

  if to_regrole('carillon_complete') is not null then
    grant usage on schema carillon to carillon_complete;
    grant execute on function carillon.complete_in(uuid, bigint, json) to carillon_complete;
  end if;

  if to_regrole('carillon_read') is not null then
    grant usage on schema carillon to carillon_read;
    foreach v_table in array v_tables loop
      if v_table not in ('secrets', 'api_keys') then
        execute format('grant select on carillon.%I to carillon_read', v_table);
      end if;
    end loop;
    grant select (key_id, name, tenant, scopes, created_at, expires_at, revoked_at) on carillon.api_keys to carillon_read;
    grant execute on function carillon.at(bigint), carillon.ms(timestamptz), carillon.first_id(bigint) to carillon_read;
  end if;
end $$;
comment on function carillon.grant_roles() is
'Grants carillon_node, carillon_enqueue, carillon_complete and carillon_read, as far as they exist, what they need. For the owner.';
select carillon.grant_roles();
