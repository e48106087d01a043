/** What has to be done so that the node holds what the file says. Reads only. */
import type { ErrorDetail, Job, WireJobInput } from '@carillon/contract'
import type { NodeClient } from '../node-client.ts'
import { list } from '../pages.ts'
import { type DagPlan, dagPlanOf } from './dag-plan.ts'
import { type Difference, differences } from './differences.ts'
import type { DeclaredJob, Manifest } from './manifest.ts'
import { neededFirst } from './needed-first.ts'
import { type TenantPlan, tenantPlanOf } from './tenant-plan.ts'

export interface Plan {
  managedBy: string
  tenants: TenantPlan
  newPools: string[]
  create: DeclaredJob[]
  change: { wanted: DeclaredJob; job: Job; differences: Difference[] }[]
  unchanged: Job[]
  /** Managed by the same name and not in the file: deleted only with --prune. */
  surplus: Job[]
  dags: DagPlan
}

const everything = Number.MAX_SAFE_INTEGER

export async function planOf(node: NodeClient, manifest: Manifest): Promise<Plan> {
  const { managedBy } = manifest
  const managed = (
    await list(everything, (page) => node.call('listJobs', { query: { managedBy, ...page } }))
  ).items.filter((job) => job.state !== 'DELETED')
  const pools = (await list(everything, (page) => node.call('listPools', { query: page }))).items
  const known = new Set(pools.map((pool) => pool.name))
  const byKey = new Map(managed.map((job) => [job.key, job]))
  const plan: Plan = {
    managedBy,
    tenants: await tenantPlanOf(node, manifest.tenants),
    newPools: manifest.pools.filter((pool) => !known.has(pool)),
    create: [],
    change: [],
    unchanged: [],
    surplus: [],
    dags: await dagPlanOf(node, manifest),
  }
  for (const wanted of manifest.jobs) {
    const job = byKey.get(wanted.key) ?? (await jobOf(node, wanted.key))
    const found = job && differences(wanted, job)
    if (!job || !found) plan.create.push(wanted)
    else if (found.length > 0) plan.change.push({ wanted, job, differences: found })
    else plan.unchanged.push(job)
  }
  const followedBy = ({ after }: DeclaredJob) => (after === undefined ? [] : [after.job])
  plan.create = neededFirst(plan.create, ({ key }) => key, followedBy)
  plan.change = neededFirst(
    plan.change,
    ({ wanted }) => wanted.key,
    ({ wanted }) => followedBy(wanted),
  )
  const declared = new Set(manifest.jobs.map((job) => job.key))
  plan.surplus = managed.filter((job) => job.key === null || !declared.has(job.key))
  return plan
}

/** What the node would refuse of it: pools, graphs and jobs that are neither there nor declared, targets that are not allowed. */
export async function refusedByNode(node: NodeClient, manifest: Manifest): Promise<ErrorDetail[]> {
  const { jobs, pools } = manifest
  const dags = manifest.dags.flatMap((dag) => (typeof dag?.key === 'string' ? [dag.key] : []))
  const steps = stepsOf(manifest)
  const asJobs = steps.map(({ target }) => ({ type: 'ONE_SHOT', target }) as WireJobInput)
  const { errors } = await node.call('checkJobs', { body: { jobs: [...jobs, ...asJobs], pools, dags } })
  return errors.flatMap((detail) => {
    const [, index, field = ''] = /^\/jobs\/(\d+)(.*)$/.exec(detail.pointer) ?? []
    const step = index === undefined ? undefined : steps[Number(index) - jobs.length]
    if (!step) return [detail]
    // The rest of a step is checked here.
    return field.startsWith('/target') ? [{ ...detail, pointer: `${step.pointer}${field}` }] : []
  })
}

/** As far as they can be read, each target once: the node checks it as that of a job that runs once. */
function stepsOf({ dags }: Manifest): { target: unknown; pointer: string }[] {
  const byTarget = new Map<string, { target: unknown; pointer: string }>()
  for (const [i, dag] of dags.entries()) {
    for (const [k, step] of (Array.isArray(dag?.steps) ? dag.steps : []).entries()) {
      const text = JSON.stringify(step?.target)
      if (text === undefined || byTarget.has(text)) continue
      byTarget.set(text, { target: step.target, pointer: `/dags/${i}/steps/${k}` })
    }
  }
  return [...byTarget.values()]
}

/** A job with this key that another manifest manages, or none. */
async function jobOf(node: NodeClient, key: string): Promise<Job | null> {
  const { items } = await node.call('listJobs', { query: { key, limit: 10 } })
  return items.find((job) => job.state !== 'DELETED') ?? null
}

export function changesOf(plan: Plan, prune: boolean): number {
  const { tenants, newPools, create, change, dags } = plan
  const deleted = prune ? plan.surplus.length + dags.surplus.length : 0
  const created = tenants.create.length + newPools.length + create.length + dags.create.length
  return created + tenants.change.length + change.length + dags.change.length + deleted
}
