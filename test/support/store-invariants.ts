/**
 * What must be true of the engine's tables between any two transactions, as one query that answers each violation.
 * It may run while others write: a statement sees one snapshot.
 */
export const brokenInvariants = `
  with places as (
    select execution_id, 'ledger' place from carillon.executions where state is not null
    union all select execution_id, 'ready' from carillon.ready
    union all select execution_id, 'running' from carillon.running
    union all select execution_id, 'retries' from carillon.retries
    union all select execution_id, 'waiting' from carillon.waiting
    union all select execution_id, 'blocked' from carillon.blocked where execution_id <> run_id
  ), past as (
    -- What happened since a person replayed it, if ever.
    select e.execution_id, h.entry, h.ordinal, coalesce((h.entry ->> 'fence')::bigint, 0) fence,
      h.ordinal > coalesce(max(h.ordinal) filter (where h.entry ->> 'reason' = 'REPLAYED') over (partition by e.execution_id), 0)
        recent
    from carillon.executions e cross join jsonb_array_elements(e.history) with ordinality h(entry, ordinal)
  ), attempts as (
    select execution_id, count(*) filter (where recent and fence > 0 and entry ->> 'to' not in ('HANDED_BACK', 'DEFERRED')) failed,
      count(*) filter (where entry ->> 'to' = 'HANDED_BACK' and recent) released
    from past group by execution_id
  )
  select coalesce(e.execution_id, p.execution_id) execution_id, 'is in '
    || coalesce(string_agg(p.place, ' and '), 'no place') || case when e.execution_id is null then ', not in the ledger' else '' end problem
  from carillon.executions e full join places p on p.execution_id = e.execution_id
  group by e.execution_id, p.execution_id having count(e.execution_id) <> 1 or count(p.place) <> 1
  union all
  select execution_id, 'is in ' || count(*) || ' places' from places group by execution_id having count(*) > 1
  union all
  select coalesce(e.execution_id, n.execution_id), 'ended as ' || coalesce(e.state, 'nothing') || ', in endings '
    || coalesce(n.state, 'nothing')
  from (select * from carillon.executions where state <> 'SUCCEEDED') e
  full join carillon.endings n on n.execution_id = e.execution_id where e.state is distinct from n.state
  union all
  select q.execution_id, 'is queued under another key than the ledger says' from carillon.ready q
  join carillon.executions e on e.execution_id = q.execution_id where (e.pool, e.lane, e.tag) <> (q.pool, q.lane, q.tag)
  union all
  select e.execution_id, 'counts ' || e.attempt || ' attempts and ' || e.releases || ' releases, its history '
    || coalesce(a.failed, 0) || ' and ' || coalesce(a.released, 0) || ', state ' || coalesce(e.state, 'open')
  from carillon.executions e left join attempts a on a.execution_id = e.execution_id
  where e.attempt <> coalesce(a.failed, 0) + case when e.state = 'SUCCEEDED' then 1 else 0 end
    or e.releases <> coalesce(a.released, 0)
  union all
  select l.ids[1], 'the lease ' || l.lease_id || ' has ' || l.open || ' open, held are ' || count(r.execution_id) from carillon.leases l
  left join carillon.running r on r.fence >> 10 = l.lease_id group by l.lease_id having l.open <> count(r.execution_id)
  union all
  select n.execution_id, 'has a note and is not held' from carillon.lease_notes n
  where not exists (select from carillon.running r where r.execution_id = n.execution_id and r.fence = n.fence)
  union all
  select execution_id, 'has log lines up to ' || before || ' and then from ' || first from (
    select execution_id, position - cardinality(lines) first, lag(position) over (partition by execution_id order by position) before
    from carillon.log_lines) l where first <> before
  union all
  select b.execution_id, 'waits for ' || b.remaining || ' steps, unfinished are ' || count(e.execution_id) from carillon.blocked b
  left join (select s.execution_id, unnest(s.children || x.job_id) child from carillon.dag_steps s
    join carillon.executions x on x.execution_id = s.execution_id and x.state is null) e on e.child = b.execution_id
  group by b.execution_id, b.remaining having b.remaining <> count(e.execution_id)
  union all
  select b.execution_id, 'counts ' || b.active || ' slots as taken, released and unfinished are ' || count(e.execution_id)
  from carillon.blocked b left join carillon.executions e on e.job_id = b.execution_id and e.state is null and e.tag >= 0
    and e.execution_id <> b.execution_id
  where b.slots is not null group by b.execution_id, b.active having b.active <> count(e.execution_id)
  union all
  select coalesce(r.execution_id, b.execution_id), 'a run that is ' || coalesce(r.state, 'not over') || ', blocked: ' || (b.execution_id is not null)
  from carillon.dag_runs r full join (select * from carillon.blocked where execution_id = run_id) b on b.execution_id = r.execution_id
  where (r.state is null) <> (b.execution_id is not null) or r.execution_id is null
  union all
  select null, k.key || ' counts ' || k.taken - coalesce(c.freed, 0) || ' slots as taken, held are ' || coalesce(h.n, 0)
  from carillon.limit_keys k left join (select key, sum(freed) freed from carillon.limit_changes group by key) c on c.key = k.key
  left join (select key, count(*) n from carillon.limit_holds group by key) h on h.key = k.key
  where k.taken - coalesce(c.freed, 0) <> coalesce(h.n, 0)
  union all
  select h.execution_id, 'holds a slot of ' || h.key || ' and is neither ready nor running' from carillon.limit_holds h
  where not exists (select from carillon.ready q where q.execution_id = h.execution_id)
    and not exists (select from carillon.running r where r.execution_id = h.execution_id)
  union all
  select w.execution_id, 'waits for ' || w.key || ', which has room' from carillon.waiting w
  join carillon.limits l on l.limit_id::text = split_part(w.key, ':', 2) and l.rate_count is null
  left join carillon.limit_keys k on k.key = w.key
  where w.tenant is not null and not exists (select from carillon.limit_changes c where c.key = w.key)
    and l.concurrency > coalesce(k.taken, 0)
  union all
  select r.execution_id, 'runs attempt ' || r.attempt || ' after ' || e.attempt || ' attempts' from carillon.running r
  join carillon.executions e on e.execution_id = r.execution_id where r.attempt <> e.attempt + 1
  union all
  select execution_id, 'has fence ' || fence || ' after ' || before from (
    select execution_id, fence, max(fence) over (partition by execution_id order by ordinal rows between unbounded preceding and 1 preceding) before
    -- What is handed over is reported under the same fence.
    from past where fence > 0 and entry ->> 'to' <> 'DEFERRED'
    union all
    select r.execution_id, r.fence, e.fence from carillon.running r join carillon.executions e on e.execution_id = r.execution_id
  ) f where fence <= before`

/** Jobs that limit overlap with themselves and were never without that limit: what they must not have. */
export const brokenOverlap = `
  select j.job_id execution_id, j.overlap || ' has ' || count(*) filter (where w.execution_id is null) || ' in work and '
    || count(w.execution_id) || ' waiting' || case when bool_or(r.cancel_at is null and r.execution_id is not null)
      then ', one runs on' else '' end problem
  from carillon.jobs j join carillon.executions e on e.job_id = j.job_id and e.state is null
  -- What waits for a limit is in work, as far as its job is concerned.
  left join carillon.waiting w on w.execution_id = e.execution_id and w.tenant is null
  left join carillon.running r on r.execution_id = e.execution_id
  where j.overlap <> 'ALLOW'
  group by j.job_id
  having count(*) filter (where w.execution_id is null) > 1
    or count(w.execution_id) > case j.overlap when 'FORBID' then 0 else 1 end
    or j.overlap = 'REPLACE' and count(w.execution_id) > 0
      and bool_or(r.cancel_at is null and r.execution_id is not null)`
