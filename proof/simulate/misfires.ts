/**
 * What was missed for longer than `misfireAfterSec` fires by its policy: with SKIP none of it, with FIRE_ONCE only the
 * latest. Judged only where a job was never changed, so that its policy is known for all of its time.
 */
import type { Violation } from '../history.ts'
import type { Ask } from '../ledger.ts'

/** The plan is made before FIRE is sent, and a leader may stand still between the two. */
const slackMs = 8_000

interface Fired {
  jobId: string
  executionId: string
  misfire: string
  afterMs: number
  due: number
  fired: number
}

const firedSql = `
  select e.job_id "jobId", e.execution_id "executionId", j.misfire, j.misfire_after_sec * 1000::float8 "afterMs",
    carillon.ms(e.due_at)::float8 due, carillon.ms(e.fired_at)::float8 fired
  from carillon.executions e join carillon.jobs j on j.job_id = e.job_id
  where e.origin = 'SCHEDULE' and e.state is distinct from 'SKIPPED' and j.version = 1 and j.misfire <> 'FIRE_ALL'
    and j.type in ('CRON', 'INTERVAL')
  order by e.job_id, e.due_at`

export async function judgeMisfires(ask: Ask): Promise<Violation[]> {
  const fired = (await ask(firedSql)) as unknown as Fired[]
  return fired.flatMap((each, i) => {
    const { afterMs, due, misfire, executionId: subject } = each
    const next = fired[i + 1]?.jobId === each.jobId ? fired[i + 1]! : null
    const missed = (one: Fired) => each.fired - one.due > afterMs + slackMs
    if (misfire === 'SKIP' && missed(each))
      return [found(subject, `${each.fired - due} ms late, though its job says SKIP`)]
    if (misfire === 'FIRE_ONCE' && next && missed(each) && missed(next)) {
      return [found(subject, `although ${next.executionId} was the latest that was missed`)]
    }
    return []
  })
}

function found(subject: string, how: string): Violation {
  return { checker: 'misfires-by-policy', subject, problem: `was fired ${how}` }
}
