-- May the session name this tenant? The owner of the schema may name any; another role those in sql_tenants, by its own name or
-- as a member of a role that has them. The role is the one of SET ROLE, else the one that logged in: inside a SECURITY
-- DEFINER function current_user is the owner.
-- Called by such functions only.
create or replace function carillon.may_act_for(p_tenant text) returns boolean
language plpgsql stable
as $$
declare
  v_role name := coalesce(nullif(current_setting('role'), 'none'), session_user);
begin
  if pg_has_role(v_role, current_user, 'usage') then
    return true;
  end if;
  return exists (
    select from carillon.sql_tenants t
    where (t.tenant is null or t.tenant = p_tenant) and pg_has_role(v_role, to_regrole(quote_ident(t.role)), 'usage'));
end $$;

-- Lets a role name a tenant in carillon.enqueue and carillon.complete_in. Null: every tenant. For the owner of the schema.
create or replace function carillon.allow_tenant(role text, tenant text) returns void
language plpgsql volatile
as $$
#variable_conflict use_variable
begin
  if to_regrole(quote_ident(role)) is null then
    raise exception 'carillon.allow_tenant: role % does not exist', role using errcode = '42704',
      hint = 'Create it first: create role … login in role carillon_enqueue.';
  end if;
  insert into carillon.sql_tenants (role, tenant) values (role, tenant) on conflict do nothing;
  if found then
    insert into carillon.audit (tenant, actor, action, subject)
    values (tenant, session_user, 'role.allowed', role);
  end if;
end $$;

create or replace function carillon.forbid_tenant(role text, tenant text) returns void
language plpgsql volatile
as $$
#variable_conflict use_variable
begin
  delete from carillon.sql_tenants t where t.role = role and t.tenant is not distinct from tenant;
  if found then
    insert into carillon.audit (tenant, actor, action, subject)
    values (tenant, session_user, 'role.forbidden', role);
  end if;
end $$;
