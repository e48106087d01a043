import { followers } from './followers.ts'
import { jobs } from './jobs.ts'
import { leader } from './leader.ts'
import type { Operation } from './operation.ts'
import { people } from './people.ts'
import { reports } from './report.ts'
import { runs } from './runs.ts'
import { submissions } from './submissions.ts'
import { time } from './time.ts'
import { upkeep } from './upkeep.ts'
import { work } from './work.ts'

export const operations: readonly Operation[] = [
  ...[...time, ...jobs, ...followers, ...submissions, ...leader, ...runs, ...work, ...reports, ...people, ...upkeep],
]
