/** What has to be done so that the node holds what the file says. Reads only. */
import type { ErrorDetail, Job, WireJobInput } from '@carillon/contract'
import type { NodeClient } from '../node-client.ts'
import { list } from '../pages.ts'
import { type DagPlan, dagPlanOf } from './dag-plan.ts'
import { type Difference, differences } from './differences.ts'
import { type LimitPlan, limitPlanOf } from './limit-plan.ts'
import type { DeclaredJob, Manifest } from './manifest.ts'
import { neededFirst } from './needed-first.ts'
import { type TenantPlan, tenantPlanOf } from './tenant-plan.ts'

export interface Plan {
  managedBy: string
  tenants: TenantPlan
  newPools: string[]
  limits: LimitPlan
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
  const jobIdOf = async (key: string) => (byKey.get(key) ?? (await jobOf(node, key)))?.jobId ?? null
  const plan: Plan = {
    managedBy,
    tenants: await tenantPlanOf(node, manifest.tenants),
    newPools: manifest.pools.filter((pool) => !known.has(pool)),
    limits: await limitPlanOf(node, manifest.limits, jobIdOf),
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

/** What the node would refuse of it: pools, limits, graphs and jobs that are neither there nor declared, targets that are not allowed. */
export async function refusedByNode(node: NodeClient, manifest: Manifest): Promise<ErrorDetail[]> {
  const { jobs, pools } = manifest
  const dags = manifest.dags.flatMap((dag) => (typeof dag?.key === 'string' ? [dag.key] : []))
  const limits = manifest.limits.flatMap((limit) =>
    typeof limit?.name === 'string' && (limit.for ?? 'KEY') === 'KEY' ? [limit.name] : [],
  )
  const steps = stepsOf(manifest)
  const asJobs = steps.map(({ pointer: _, ...step }) => ({ type: 'ONE_SHOT', ...step }) as WireJobInput)
  const { errors } = await node.call('checkJobs', { body: { jobs: [...jobs, ...asJobs], pools, limits, dags } })
  return errors.flatMap((detail) => {
    const [, index, field = ''] = /^\/jobs\/(\d+)(.*)$/.exec(detail.pointer) ?? []
    const step = index === undefined ? undefined : steps[Number(index) - jobs.length]
    if (!step) return [detail]
    // The rest of a step is checked here.
    return field.startsWith('/target') || field.startsWith('/limits/')
      ? [{ ...detail, pointer: `${step.pointer}${field}` }]
      : []
  })
}

interface CheckedStep {
  target: unknown
  /** Their names. */
  limits?: string[]
  pointer: string
}

/** As far as they can be read, each target once: the node checks it as that of a job that runs once. */
function stepsOf({ dags }: Manifest): CheckedStep[] {
  const byTarget = new Map<string, CheckedStep>()
  for (const [i, dag] of dags.entries()) {
    for (const [k, step] of (Array.isArray(dag?.steps) ? dag.steps : []).entries()) {
      if (step?.target === undefined) continue
      const checked = { target: step.target, ...limitNames(step.limits) }
      const text = JSON.stringify(checked)
      if (!byTarget.has(text)) byTarget.set(text, { ...checked, pointer: `/dags/${i}/steps/${k}` })
    }
  }
  return [...byTarget.values()]
}

function limitNames(limits: unknown): { limits?: string[] } {
  if (!Array.isArray(limits) || limits.length === 0) return {}
  return { limits: limits.map((each) => String(each).split(':')[0]!) }
}

/** A job with this key that another manifest manages, or none. */
async function jobOf(node: NodeClient, key: string): Promise<Job | null> {
  const { items } = await node.call('listJobs', { query: { key, limit: 10 } })
  return items.find((job) => job.state !== 'DELETED') ?? null
}

export function changesOf(plan: Plan, prune: boolean): number {
  const { tenants, newPools, limits, create, change, dags } = plan
  const deleted = prune ? plan.surplus.length + dags.surplus.length : 0
  const created = tenants.create.length + newPools.length + limits.create.length + create.length + dags.create.length
  const changed = tenants.change.length + limits.change.length + change.length + dags.change.length
  return created + changed + deleted
}
