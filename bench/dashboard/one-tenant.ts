/** An installation in which one tenant has everything: 100,000 jobs, a million executions of 30 days, one in ten a dead letter. */
import type { Installation } from '../ground/ground.ts'
import { layJobs } from '../load/jobs-at-rest.ts'
import type { Bench } from '../scenario.ts'

/** Of `jobs` in the full form. */
export const allJobs = 100_000

/** Errors come in seven kinds. While no node runs. */
export async function layWork(bench: Bench, installation: Installation, tenant: string): Promise<void> {
  const jobs = bench.size(allJobs, 10_000)
  await layJobs(installation.databaseUrl, { jobs, beats: 20, tenants: [tenant] }, (text) => bench.progress(text))
  bench.progress('giving the history to one tenant, a tenth of it dead')
  await installation.query('update carillon.executions set tenant = $1', [tenant])
  await installation.query(
    `update carillon.executions set state = 'DEAD', reason = 'ATTEMPTS_USED_UP', attempt = 4,
       error = jsonb_build_object('name', 'Error' || fence % 7, 'message', 'it failed')
     where fence % 10 = 0`,
  )
  await installation.query(
    `select carillon.record_ends(array_agg(execution_id), array_agg(tenant), array_agg(state))
     from carillon.executions where state = 'DEAD'`,
  )
  await installation.query('vacuum analyze carillon.executions, carillon.endings')
}
