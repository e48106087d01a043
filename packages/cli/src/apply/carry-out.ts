/**
 * Applies a plan in dependency order: tenants, pools, limits, graphs, jobs, deletions; a limit of a job
 * after it. A change names the version
 * it was planned for, so that a concurrent change by someone else is refused rather than overwritten. Broken off, it
 * can be done again: what is done already shows as unchanged.
 */
import { Presets, SingleBar } from 'cli-progress'
import { Negative } from '../failure.ts'
import type { NodeClient } from '../node-client.ts'
import type { Output } from '../output.ts'
import { type DeclaredLimit, isOfJob, limitBodyOf } from './limit-plan.ts'
import { changesOf, type Plan } from './plan.ts'
import { bodyOf } from './tenant-plan.ts'

const barFrom = 10

export async function carryOut(
  node: NodeClient,
  out: Output,
  plan: Plan,
  { prune }: { prune: boolean },
): Promise<void> {
  const total = changesOf(plan, prune)
  const bar =
    out.moving && total >= barFrom
      ? new SingleBar({ hideCursor: true, stream: process.stderr }, Presets.shades_grey)
      : null
  bar?.start(total, 0)
  let done = 0
  try {
    for await (const _ of steps(node, plan, prune)) bar?.update(++done)
  } catch (error) {
    bar?.stop()
    if (done > 0) out.note(`${done} of ${total} were done before this; apply again to go on.`)
    throw error
  }
  bar?.stop()
}

async function* steps(node: NodeClient, plan: Plan, prune: boolean): AsyncGenerator<void> {
  for (const wanted of plan.tenants.create)
    yield void (await node.call('putTenant', { params: { tenant: wanted.name }, body: bodyOf(wanted) }))
  for (const { wanted, tenant } of plan.tenants.change) {
    const headers = { 'if-match': `"${tenant.version}"` }
    yield void (await node.call('putTenant', { params: { tenant: wanted.name }, headers, body: bodyOf(wanted) }))
  }
  for (const name of plan.newPools) yield void (await node.call('createPool', { body: { name } }))
  yield* putLimits(node, plan, (limit) => !isOfJob(limit))
  for (const body of plan.dags.create) yield void (await node.call('createDag', { body }))
  for (const { wanted, dag } of plan.dags.change) {
    const headers = { 'if-match': `"${dag.version}"` }
    yield void (await node.call('replaceDag', { params: { dagId: dag.dagId }, headers, body: wanted }))
  }
  for (const body of plan.create) yield void (await node.call('createJob', { body }))
  for (const { wanted, job } of plan.change) {
    const headers = { 'if-match': `"${job.version}"` }
    yield void (await node.call('replaceJob', { params: { jobId: job.jobId }, headers, body: wanted }))
  }
  yield* putLimits(node, plan, isOfJob)
  for (const { jobId, version, managedBy } of prune ? plan.surplus : []) {
    if (managedBy !== plan.managedBy) throw new Negative(`Job ${jobId} is not managed by ${plan.managedBy}`)
    yield void (await node.call('deleteJob', { params: { jobId }, headers: { 'if-match': `"${version}"` } }))
  }
  for (const { dagId, version, managedBy } of prune ? plan.dags.surplus : []) {
    if (managedBy !== plan.managedBy) throw new Negative(`Graph ${dagId} is not managed by ${plan.managedBy}`)
    yield void (await node.call('deleteDag', { params: { dagId }, headers: { 'if-match': `"${version}"` } }))
  }
}

async function* putLimits(
  node: NodeClient,
  { limits }: Plan,
  which: (limit: DeclaredLimit) => boolean,
): AsyncGenerator<void> {
  for (const wanted of limits.create.filter(which))
    yield void (await node.call('putLimit', { params: { limit: wanted.name }, body: limitBodyOf(wanted) }))
  for (const { wanted, limit } of limits.change.filter((change) => which(change.wanted))) {
    const headers = { 'if-match': `"${limit.version}"` }
    yield void (await node.call('putLimit', { params: { limit: wanted.name }, headers, body: limitBodyOf(wanted) }))
  }
}
