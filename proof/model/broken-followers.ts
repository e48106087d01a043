/** Jobs after other jobs with one thing wrong: see broken.ts. */
import type { Broken } from './broken.ts'

export const brokenFollowers: readonly Broken[] = [
  {
    ...{ name: 'what is to follow a success follows a failure too', function: 'follow_ends' },
    text: `x.on_end in ('ENDED',`,
    instead: `x.on_end in ('ENDED', 'SUCCEEDED',`,
  },
  {
    ...{ name: 'what was skipped is followed', function: 'follow_ends' },
    text: `where e.state <> 'SKIPPED'`,
    instead: 'where true',
  },
  {
    ...{ name: 'only one job follows an end', function: 'follow_ends' },
    text: `else 'FAILED' end) offset 0) f`,
    instead: `else 'FAILED' end) limit 1) f`,
  },
  {
    ...{ name: 'jobs of other tenants follow', function: 'follow_ends' },
    text: 'where x.tenant = e.tenant and x.followed in',
    instead: 'where x.followed in',
  },
  {
    ...{ name: 'a follower that is paused runs', function: 'fire_followers' },
    text: `when v_job.state = 'PAUSED' then 'PAUSED'`,
    instead: '',
  },
  {
    ...{ name: 'a follower runs after what it follows no more', function: 'fire_followers' },
    text: 'when v_job.after_job is distinct from v_row.after_job then',
    instead: 'when false then',
  },
  {
    ...{ name: 'what follows is fired again', function: 'fire_submissions' },
    text: 'delete from carillon.submissions u where u.execution_id = any (v_followed.moved);',
    instead: '',
  },
]
