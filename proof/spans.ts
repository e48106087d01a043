/** What recurring jobs were over time, as the checkers read it. */
import type { JobSpan } from './history.ts'
import type { Ask } from './ledger.ts'

const spansSql = `
  select s.job_id "jobId", s.version, s.state, coalesce(v.overlap, j.overlap) overlap,
    carillon.ms(s.since)::float8 since, carillon.ms(s.until)::float8 until
  from carillon.job_spans s
  left join carillon.job_versions v on v.job_id = s.job_id and v.version = s.version
  left join carillon.jobs j on j.job_id = s.job_id and j.version = s.version
  union all
  select j.job_id, j.version, j.state, j.overlap, carillon.ms(j.updated_at)::float8, null
  from carillon.jobs j where j.type in ('CRON', 'INTERVAL', 'AFTER')
  order by "jobId", since, version`

export async function readSpans(ask: Ask): Promise<JobSpan[]> {
  return (await ask(spansSql)) as unknown as JobSpan[]
}
