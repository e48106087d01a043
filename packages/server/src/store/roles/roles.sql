-- The group roles of a Carillon installation. They cannot log in; give them to roles that can:
--   create role shop login password '…' in role carillon_enqueue;
--   select carillon.allow_tenant('shop', 'acme');
-- Run it as the owner of the schema with CREATEROLE, or let an administrator create the roles first. Harmless when repeated.
do $$
declare
  v_role text;
begin
  foreach v_role in array '{carillon_node, carillon_enqueue, carillon_complete, carillon_read}'::text[] loop
    if to_regrole(v_role) is null then
      execute format('create role %I nologin', v_role);
    end if;
  end loop;
end $$;
select carillon.grant_roles();
