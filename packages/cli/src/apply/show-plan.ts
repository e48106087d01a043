/** A plan for people: what is new, what changes and how, what goes. */
import type { Job } from '@carillon/contract'
import type { Output } from '../output.ts'
import { printable } from '../table.ts'
import { scheduleOf, targetOf } from '../views.ts'
import type { Plan } from './plan.ts'

const longestValue = 60

export function showPlan(out: Output, plan: Plan, { prune }: { prune: boolean }): void {
  const { newPools, create, change, unchanged, surplus } = plan
  for (const pool of newPools) out.line(out.style('green', `+ pool ${printable(pool)}`))
  for (const job of create) {
    const what = `${scheduleOf({ timezone: 'UTC', ...job } as Job)}  ${targetOf(job)}`
    out.line(`${out.style('green', `+ job ${printable(job.key)}`)}  ${out.style('dim', printable(what))}`)
  }
  for (const { wanted, differences } of change) {
    out.line(out.style('yellow', `~ job ${printable(wanted.key)}`))
    const width = Math.max(...differences.map(({ field }) => field.length))
    for (const { field, from, to } of differences)
      out.line(`    ${field.padEnd(width)}  ${shown(from)} ${out.style('dim', '->')} ${shown(to)}`)
  }
  for (const job of surplus) {
    const name = printable(job.key ?? job.name)
    if (prune) out.line(out.style('red', `- job ${name}`))
    else out.line(out.style('dim', `! job ${name} is not in the file and stays; --prune deletes it`))
  }
  if (unchanged.length > 0) out.line(out.style('dim', `= ${unchanged.length} unchanged`))
  out.line()
  const deleted = prune ? surplus.length : 0
  out.line(
    `${create.length + newPools.length} to create, ${change.length} to change, ${deleted} to delete, ${unchanged.length} unchanged.`,
  )
}

function shown(value: unknown): string {
  const text = printable(value === undefined ? 'none' : JSON.stringify(value))
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}

/** The same for programs. */
export function planDocument(plan: Plan, prune: boolean) {
  const { managedBy, newPools, create, change, unchanged, surplus } = plan
  return {
    managedBy,
    changes: [
      ...newPools.map((name) => ({ action: 'CREATE', kind: 'pool', name })),
      ...create.map(({ key }) => ({ action: 'CREATE', kind: 'job', key })),
      ...change.map(({ wanted, job, differences }) => ({
        action: 'CHANGE',
        kind: 'job',
        key: wanted.key,
        jobId: job.jobId,
        differences,
      })),
      ...(prune ? surplus.map(({ key, jobId }) => ({ action: 'DELETE', kind: 'job', key, jobId })) : []),
    ],
    unchanged: unchanged.length,
    surplus: surplus.map(({ key, jobId }) => ({ key, jobId })),
  }
}
