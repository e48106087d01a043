-- The ledger row of an occurrence that did not fire: SKIPPED, or DEAD because it cannot be processed.
create or replace function carillon.recorded(
  p_id uuid, p_job uuid, p_version int, p_tenant text, p_pool text, p_lane smallint, p_handler text, p_scheduled_for timestamptz,
  p_due_at timestamptz, p_labels jsonb, p_state text, p_reason text, p_skipped_last timestamptz, p_skipped_count int)
returns carillon.birth
  language sql immutable
  return row(p_id, p_job, p_version, p_tenant, null, p_pool, p_lane, p_handler, -1, false, p_scheduled_for, p_due_at, null, null, null,
    null, p_labels, null, p_state, p_reason, p_skipped_last, p_skipped_count, null, null, null, null)::carillon.birth;
