/** A plan for people: what is new, what changes and how, what goes. */
import { type Job, quotaNames } from '@carillon/contract'
import type { Output } from '../output.ts'
import { rateText } from '../rates.ts'
import { printable } from '../table.ts'
import { scheduleOf, targetOf } from '../views.ts'
import type { Difference } from './differences.ts'
import type { DeclaredLimit } from './limit-plan.ts'
import type { Plan } from './plan.ts'
import type { DeclaredTenant } from './tenant-plan.ts'

const longestValue = 60

export function showPlan(out: Output, plan: Plan, { prune }: { prune: boolean }): void {
  const { tenants, newPools, limits, create, change, surplus, dags } = plan
  const unchanged = tenants.unchanged.length + limits.unchanged.length + plan.unchanged.length + dags.unchanged.length
  for (const tenant of tenants.create)
    out.line(`${out.style('green', `+ tenant ${printable(tenant.name)}`)}  ${out.style('dim', declared(tenant))}`)
  for (const { wanted, differences } of tenants.change) {
    out.line(out.style('yellow', `~ tenant ${printable(wanted.name)}`))
    showDifferences(out, differences)
  }
  for (const pool of newPools) out.line(out.style('green', `+ pool ${printable(pool)}`))
  for (const limit of limits.create)
    out.line(`${out.style('green', `+ limit ${printable(limit.name)}`)}  ${out.style('dim', printable(whatOf(limit)))}`)
  for (const { wanted, differences } of limits.change) {
    out.line(out.style('yellow', `~ limit ${printable(wanted.name)}`))
    showDifferences(out, differences)
  }
  for (const job of create) {
    const what = `${scheduleOf({ timezone: 'UTC', ...job } as Job)}  ${targetOf(job)}`
    out.line(`${out.style('green', `+ job ${printable(job.key)}`)}  ${out.style('dim', printable(what))}`)
  }
  for (const { wanted, differences } of change) {
    out.line(out.style('yellow', `~ job ${printable(wanted.key)}`))
    showDifferences(out, differences)
  }
  for (const { key, steps } of dags.create) {
    const what = steps.length === 1 ? '1 step' : `${steps.length} steps`
    out.line(`${out.style('green', `+ graph ${printable(key)}`)}  ${out.style('dim', what)}`)
  }
  for (const { wanted, differences } of dags.change) {
    out.line(out.style('yellow', `~ graph ${printable(wanted.key)}`))
    showDifferences(out, differences)
  }
  for (const job of surplus) showSurplus(out, 'job', job, prune)
  for (const dag of dags.surplus) showSurplus(out, 'graph', dag, prune)
  if (unchanged > 0) out.line(out.style('dim', `= ${unchanged} unchanged`))
  out.line()
  const created = tenants.create.length + limits.create.length + create.length + newPools.length + dags.create.length
  const changed = tenants.change.length + limits.change.length + change.length + dags.change.length
  const deleted = prune ? surplus.length + dags.surplus.length : 0
  out.line(`${created} to create, ${changed} to change, ${deleted} to delete, ${unchanged} unchanged.`)
}

function whatOf({ for: scope = 'KEY', of = null, concurrency = null, rate = null }: DeclaredLimit): string {
  const what = of === null ? scope : `${scope} ${of}`
  const most = [concurrency === null ? '' : `concurrency ${concurrency}`, rateText(rate)]
  return [what, ...most.filter((text) => text !== '')].join('  ')
}

function declared({ weight = 1, ...tenant }: DeclaredTenant): string {
  const quotas = quotaNames.filter((quota) => typeof tenant[quota] === 'number')
  return [`weight ${weight}`, ...quotas.map((quota) => `${quota} ${tenant[quota]}`)].join(', ')
}

function showSurplus(out: Output, kind: string, { key, name }: { key: string | null; name: string }, prune: boolean) {
  const what = `${kind} ${printable(key ?? name)}`
  if (prune) out.line(out.style('red', `- ${what}`))
  else out.line(out.style('dim', `! ${what} is not in the file and stays; --prune deletes it`))
}

export function showDifferences(out: Output, differences: readonly Difference[]): void {
  const width = Math.max(...differences.map(({ field }) => field.length))
  for (const { field, from, to } of differences)
    out.line(`    ${field.padEnd(width)}  ${shown(from)} ${out.style('dim', '->')} ${shown(to)}`)
}

function shown(value: unknown): string {
  const text = printable(value === undefined ? 'none' : JSON.stringify(value))
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}

/** The same for programs. */
export function planDocument(plan: Plan, prune: boolean) {
  const { managedBy, tenants, newPools, limits, create, change, unchanged, surplus, dags } = plan
  return {
    managedBy,
    changes: [
      ...tenants.create.map(({ name }) => ({ action: 'CREATE', kind: 'tenant', name })),
      ...tenants.change.map(({ wanted: { name }, differences }) => ({
        ...{ action: 'CHANGE', kind: 'tenant', name, differences },
      })),
      ...newPools.map((name) => ({ action: 'CREATE', kind: 'pool', name })),
      ...limits.create.map(({ name }) => ({ action: 'CREATE', kind: 'limit', name })),
      ...limits.change.map(({ wanted: { name }, differences }) => ({
        ...{ action: 'CHANGE', kind: 'limit', name, differences },
      })),
      ...create.map(({ key }) => ({ action: 'CREATE', kind: 'job', key })),
      ...change.map(({ wanted, job, differences }) => ({
        action: 'CHANGE',
        kind: 'job',
        key: wanted.key,
        jobId: job.jobId,
        differences,
      })),
      ...dags.create.map(({ key }) => ({ action: 'CREATE', kind: 'graph', key })),
      ...dags.change.map(({ wanted, dag, differences }) => ({
        action: 'CHANGE',
        kind: 'graph',
        key: wanted.key,
        dagId: dag.dagId,
        differences,
      })),
      ...(prune ? surplus.map(({ key, jobId }) => ({ action: 'DELETE', kind: 'job', key, jobId })) : []),
      ...(prune ? dags.surplus.map(({ key, dagId }) => ({ action: 'DELETE', kind: 'graph', key, dagId })) : []),
    ],
    unchanged: tenants.unchanged.length + limits.unchanged.length + unchanged.length + dags.unchanged.length,
    surplus: [
      ...surplus.map(({ key, jobId }) => ({ key, jobId })),
      ...dags.surplus.map(({ key, dagId }) => ({ key, dagId })),
    ],
  }
}
