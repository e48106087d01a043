-- Log lines in a table of their own, so that they can be written while the handler runs. Nodes of the version before go on working
-- beside it: REPORT and DEFER take lines as they did, and write them here. Only such a node's own answer to
-- `GET /v1/executions/:id/logs` shows nothing newer. executions.log is written no more; it goes when no such node can be left.

-- A row holds the lines that came together. Partitioned like the ledger, and dropped with it.
create table carillon.log_lines (
  execution_id uuid not null,
  -- The number of its last line among all lines of the execution, over all attempts.
  position int not null,
  fence bigint not null,
  attempt int not null,
  -- Up to and with this row: lines and bytes under this fence, and bytes of the execution. 1,000,000 lines: the rest is cut.
  fence_lines int not null,
  fence_bytes int not null,
  total_bytes bigint not null,
  -- Milliseconds since 1970, one for each line.
  times bigint[] not null,
  lines text[] not null,
  primary key (execution_id, position)
) partition by range (execution_id);

do $$
declare
  v_partition record;
begin
  for v_partition in
    select coalesce('p' || substring(c.relname from '_p([0-9]+)$'), c.relname) suffix, pg_get_expr(c.relpartbound, c.oid) bounds from pg_inherits i
    join pg_class c on c.oid = i.inhrelid where i.inhparent = 'carillon.executions'::regclass
  loop
    execute format('create table carillon.%I partition of carillon.log_lines %s with (autovacuum_vacuum_insert_scale_factor = 0.2)',
      'log_lines_' || v_partition.suffix, v_partition.bounds);
  end loop;
end $$;

-- Which attempt logged what was not recorded until now: it counts as the latest.
insert into carillon.log_lines (execution_id, position, fence, attempt, fence_lines, fence_bytes, total_bytes, times, lines)
select e.execution_id, cardinality(l.lines), coalesce(e.fence, 0), greatest(e.attempt, 1), 1000000, octet_length(e.log), octet_length(e.log),
  array_fill((extract(epoch from coalesce(e.finished_at, e.started_at, e.fired_at)) * 1000)::bigint, array[cardinality(l.lines)]), l.lines
from carillon.executions e cross join lateral (select string_to_array(regexp_replace(e.log, E'\n$', ''), E'\n') lines) l
where e.log <> '' and cardinality(l.lines) > 0;
