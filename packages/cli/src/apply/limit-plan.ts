/** What has to be done about limits. Reads only. */
import { CarillonError, type Limit, type LimitInput } from '@carillon/contract'
import type { NodeClient } from '../node-client.ts'
import { changedFields, type Difference } from './differences.ts'

export type DeclaredLimit = LimitInput & { name: string }

/** Limits that a file does not name stay: nothing says which file they belong to. */
export interface LimitPlan {
  create: DeclaredLimit[]
  change: { wanted: DeclaredLimit; limit: Limit; differences: Difference[] }[]
  unchanged: Limit[]
}

/** `jobIdOf`: of a key; null if there is no such job yet. */
export async function limitPlanOf(
  node: NodeClient,
  limits: readonly DeclaredLimit[],
  jobIdOf: (key: string) => Promise<string | null>,
): Promise<LimitPlan> {
  const plan: LimitPlan = { create: [], change: [], unchanged: [] }
  for (const wanted of limits) {
    const limit = await limitOf(node, wanted.name)
    const differences = limit && changedFields({ ...limit }, await fieldsOf(wanted, jobIdOf))
    if (!limit || !differences) plan.create.push(wanted)
    else if (differences.length > 0) plan.change.push({ wanted, limit, differences })
    else plan.unchanged.push(limit)
  }
  return plan
}

/** Its body is what is said about it; its name is the address. */
export function limitBodyOf({ name: _, ...body }: DeclaredLimit): LimitInput {
  return body
}

/** One that is for a job is declared after it: the job may be new. */
export function isOfJob({ for: scope, of }: DeclaredLimit): boolean {
  return scope === 'JOB' && of !== null && of !== undefined
}

async function fieldsOf(
  wanted: DeclaredLimit,
  jobIdOf: (key: string) => Promise<string | null>,
): Promise<Record<string, unknown>> {
  const usual = { for: 'KEY', of: null, concurrency: null, rate: null, description: null }
  // A node shows the id of the job, however it was named.
  const of = isOfJob(wanted) ? { of: (await jobIdOf(wanted.of!)) ?? wanted.of! } : {}
  return { ...usual, ...wanted, ...of }
}

async function limitOf(node: NodeClient, name: string): Promise<Limit | null> {
  try {
    const { usage: _, ...limit } = await node.call('getLimit', { params: { limit: name } })
    return limit
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'LIMIT_NOT_FOUND') return null
    throw error
  }
}
