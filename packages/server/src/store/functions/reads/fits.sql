-- Does an execution fit a filter, but for its state and its time? Null: any. The planner puts the body in place of the call.
create or replace function carillon.fits(
  e carillon.executions, p_tenant text, p_job uuid, p_handler text, p_pool text, p_origin text, p_error text, p_reason text,
  p_labels jsonb)
returns boolean
language sql immutable parallel safe
  return e.tenant = p_tenant and (p_job is null or e.job_id = p_job) and (p_handler is null or e.handler = p_handler)
    and (p_pool is null or carillon.pool_name(e.pool) = p_pool) and (p_origin is null or e.origin = p_origin)
    and (p_error is null or carillon.error_name(e.error) = p_error) and (p_reason is null or coalesce(e.reason, '') = p_reason)
    and (p_labels is null or e.labels @> p_labels);
