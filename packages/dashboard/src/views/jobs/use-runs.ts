import { useAsk } from '../../lib/queries.ts'

const askEveryMs = 2_000
const runs = 60

/** The latest runs of a job, one answer for the strip and the table. */
export function useRuns(jobId: string) {
  return useAsk('listJobExecutions', { params: { jobId }, query: { limit: runs } }, { everyMs: askEveryMs })
}
