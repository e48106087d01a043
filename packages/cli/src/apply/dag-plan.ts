/** What has to be done about graphs, beside the jobs of `plan.ts`. Reads only. */
import { CarillonError, type Dag } from '@carillon/contract'
import type { NodeClient } from '../node-client.ts'
import { list } from '../pages.ts'
import { dagDifferences } from './dag-differences.ts'
import type { Difference } from './differences.ts'
import type { DeclaredDag, Manifest } from './manifest.ts'
import { neededFirst } from './needed-first.ts'

export interface DagPlan {
  create: DeclaredDag[]
  change: { wanted: DeclaredDag; dag: Dag; differences: Difference[] }[]
  unchanged: Dag[]
  /** Managed by the same name and not in the file: deleted only with --prune. */
  surplus: Dag[]
}

const everything = Number.MAX_SAFE_INTEGER

export async function dagPlanOf(node: NodeClient, { managedBy, dags }: Manifest): Promise<DagPlan> {
  const managed = await managedDags(node, managedBy, dags.length > 0)
  const byKey = new Map(managed.map((dag) => [dag.key, dag]))
  const plan: DagPlan = { create: [], change: [], unchanged: [], surplus: [] }
  for (const wanted of dags) {
    const dag = byKey.get(wanted.key) ?? (await dagByKey(node, wanted.key))
    const differences = dag && dagDifferences(wanted, dag)
    if (!dag || !differences) plan.create.push(wanted)
    else if (differences.length > 0) plan.change.push({ wanted, dag, differences })
    else plan.unchanged.push(dag)
  }
  const ranBy = ({ steps }: DeclaredDag) => steps.flatMap(({ target }) => target?.dag ?? [])
  plan.create = neededFirst(plan.create, ({ key }) => key, ranBy)
  const declared = new Set(dags.map((dag) => dag.key))
  plan.surplus = managed.filter((dag) => dag.key === null || !declared.has(dag.key))
  return plan
}

/** A node of an older version has no graphs, which matters only to a file that has. */
async function managedDags(node: NodeClient, managedBy: string, needed: boolean): Promise<Dag[]> {
  try {
    return (await list(everything, (page) => node.call('listDags', { query: { managedBy, ...page } }))).items
  } catch (error) {
    if (!needed && error instanceof CarillonError && error.code === 'ROUTE_NOT_FOUND') return []
    throw error
  }
}

/** A graph with this key that another manifest manages, or none. */
async function dagByKey(node: NodeClient, key: string): Promise<Dag | null> {
  const { items } = await node.call('listDags', { query: { key, limit: 1 } })
  return items[0] ?? null
}
