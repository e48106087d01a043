-- Whether an execution is in quarantine: it may then be open and in no queue. verify asks only here.
-- Index: quarantine_execution.
create or replace function carillon.is_quarantined(p_id uuid) returns boolean
  language sql stable parallel safe
  return exists (select from carillon.quarantine q where q.execution_id = p_id);
