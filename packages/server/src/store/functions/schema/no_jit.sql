-- Applied after all other functions: those that pin their plans are never JIT-compiled, whichever session calls them.
--
-- Before PostgreSQL 18 a scan that is switched off costs 1e10 when there is no other way, so the planner takes a statement
-- over three rows for a huge one and compiles it: 0.9 to 1.7 s a call where LLVM is installed and jit is on, which is the
-- default of most packages. Nodes also switch it off for their own sessions; this is for the transactions of others that
-- call carillon.enqueue or carillon.complete_in.
do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid::regprocedure from pg_proc p
    where p.pronamespace = 'carillon'::regnamespace and p.prokind = 'f'
      and exists (select from unnest(p.proconfig) c where c like 'plan\_cache\_mode=%' or c like 'enable\_%')
  loop
    execute format('alter function %s set jit = off', v_function);
  end loop;
end
$$;
