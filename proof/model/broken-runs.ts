/** Runs of graphs with one thing wrong: see broken.ts. */
import type { Broken } from './broken.ts'

export const brokenRuns: readonly Broken[] = [
  {
    ...{ name: 'two dependencies that end at once count as one', function: 'release_steps' },
    text: 'remaining = b.remaining - t.done',
    instead: 'remaining = b.remaining - least(t.done, 1)',
  },
  {
    ...{ name: 'those behind a skipped step are not told', function: 'release_steps' },
    text: 'unnest(s.children || e.job_id)',
    instead: `unnest(case when e.state = 'SKIPPED' then array[e.job_id] else s.children || e.job_id end)`,
  },
  {
    ...{ name: 'a step that was cancelled has not failed', function: 'release_steps' },
    text: `e.state <> 'SUCCEEDED' and not q.skipped`,
    instead: `e.state = 'DEAD' and not q.skipped`,
  },
  {
    ...{ name: 'a failure is never allowed', function: 'release_steps' },
    text: 'not s.allow_failure or',
    instead: 'true or',
  },
  {
    ...{ name: 'a paused run goes on', function: 'advance' },
    text: `when r.paused then 'HELD'`,
    instead: `when false then 'HELD'`,
  },
  {
    ...{ name: 'a step has waited for its start since its run began', function: 'advance' },
    text: `expires_at = v_now + (e.policy`,
    instead: `expires_at = e.fired_at + (e.policy`,
  },
  {
    ...{ name: 'a run that was cancelled has failed', function: 'advance' },
    text: `when r.cancel_reason = 'RUN_CANCELLED' then 'CANCELLED' else 'FAILED' end`,
    instead: `else 'FAILED' end`,
  },
  {
    ...{ name: 'what was held back is forgotten', function: 'pause_run' },
    text: 'set held = false where',
    instead: 'set held = true where',
  },
  {
    ...{ name: 'the deadline of a run waits while it is paused', function: 'expire_runs' },
    text: `where d.kind = 'RUN' and d.due <= v_now`,
    instead: `where d.kind = 'RUN' and d.due <= v_now
      and not exists (select from carillon.dag_runs r where r.execution_id = d.execution_id and r.paused)`,
  },
  {
    ...{ name: 'a retry of a run runs again what has succeeded', function: 'retry_run' },
    text: `update carillon.executions e
  set state = null`,
    instead: `select array_agg(o.execution_id), array_agg(0) into p_ids, p_waits from carillon.executions_of_run(p_run) o;
  update carillon.executions e
  set state = null`,
  },
  {
    ...{ name: 'a retry of a run keeps what its steps were given', function: 'retry_run' },
    text: 'inputs = null, tag = -1',
    instead: 'tag = -1',
  },
  {
    ...{ name: 'a signal counts after the time of its step', function: 'signal_step' },
    text: 'and h.overdue_at > v_now',
    instead: '',
  },
]
