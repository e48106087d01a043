import { backfillJob } from './backfill.ts'
import { createJobs } from './batch.ts'
import { checkJobs } from './check.ts'
import { createJob } from './create.ts'
import { deleteJob } from './delete.ts'
import { listJobExecutions } from './executions.ts'
import { getForecast } from './forecast.ts'
import { getJob } from './get.ts'
import { listJobs } from './list.ts'
import { nextFires, previewSchedule } from './next.ts'
import { patchJob } from './patch.ts'
import { pauseJob, resumeJob } from './pause.ts'
import { replaceJob } from './replace.ts'
import { triggerJob } from './trigger.ts'
import { listJobVersions } from './versions.ts'

export const jobsRoutes = {
  createJob,
  createJobs,
  checkJobs,
  listJobs,
  getForecast,
  getJob,
  replaceJob,
  patchJob,
  deleteJob,
  pauseJob,
  resumeJob,
  triggerJob,
  backfillJob,
  listJobExecutions,
  listJobVersions,
  nextFires,
  previewSchedule,
}
