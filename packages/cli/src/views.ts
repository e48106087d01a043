/** How jobs and executions look in a table, the same in every command. */
import { type Execution, type Job, urlText } from '@carillon/contract'
import type { Context } from './context.ts'
import type { Column } from './table.ts'
import { absolute, duration, relative } from './times.ts'

export function jobColumns({ out, now }: Pick<Context, 'out' | 'now'>): Column<Job>[] {
  return [
    { header: 'ID', value: (job) => job.jobId },
    { header: 'KEY', value: (job) => job.key, flexible: true },
    { header: 'NAME', value: (job) => job.name, flexible: true, dispensable: 4 },
    { header: 'STATE', value: (job) => job.state, paint: (job) => out.state(job.state) },
    { header: 'SCHEDULE', value: scheduleOf, flexible: true },
    { header: 'TARGET', value: targetOf, flexible: true, dispensable: 3 },
    { header: 'NEXT FIRE', value: (job) => job.nextFireAt && absolute(job.nextFireAt), dispensable: 1 },
    { header: 'NEXT', value: (job) => (job.nextFireAt ? relative(Date.parse(job.nextFireAt), now()) : '') },
    { header: 'LAST', value: (job) => job.lastState, paint: (job) => out.state(job.lastState ?? ''), dispensable: 2 },
  ]
}

export function scheduleOf(job: Job): string {
  const zone = job.timezone === 'UTC' ? '' : ` ${job.timezone}`
  switch (job.type) {
    case 'CRON':
      return `${job.schedule}${job.dayFields === 'BOTH' ? ' (both day fields)' : ''}${zone}`
    case 'INTERVAL':
      return `every ${job.interval}${/^P(?!T)/.test(job.interval ?? '') ? zone : ''}`
    case 'DELAYED':
      return `after ${duration(job.delayMs ?? 0)}`
    case 'AFTER':
      return `after ${job.after?.job}${job.after?.on === 'SUCCEEDED' ? '' : ` (${job.after?.on})`}`
    case 'ONE_SHOT':
      if (job.runAtLocal !== null) return `once, ${job.runAtLocal.replace('T', ' ')}${zone}`
      return job.runAt === null ? 'once' : `once, ${absolute(job.runAt)}`
  }
}

export function targetOf({ target }: Pick<Job, 'target'>): string {
  if (target.http) return `${target.http.method ?? 'POST'} ${urlText(target.http.url)}`
  if (target.shell) return `shell ${[target.shell.command, ...(target.shell.args ?? [])].join(' ')}`
  if (target.kafka) return `kafka ${[target.kafka.cluster, target.kafka.topic].filter(Boolean).join('/')}`
  if (target.lambda) return `lambda ${target.lambda.functionArn.replace(/^arn:[^:]+:lambda:/, '')}`
  if (target.dag) return `run of ${target.dag}`
  return target.pool === undefined || target.pool === 'default'
    ? `${target.handler}`
    : `${target.handler} @ ${target.pool}`
}

export function executionColumns({ out, now }: Pick<Context, 'out' | 'now'>): Column<Execution>[] {
  return [
    { header: 'ID', value: (execution) => execution.executionId },
    { header: 'NAME', value: (execution) => execution.name ?? execution.handler, flexible: true },
    { header: 'STATE', value: (execution) => execution.state, paint: (execution) => out.state(execution.state) },
    { header: 'SCHEDULED FOR', value: (execution) => absolute(execution.scheduledFor), dispensable: 1 },
    { header: 'WHEN', value: (execution) => relative(Date.parse(execution.scheduledFor), now()) },
    {
      header: 'LATE',
      value: ({ latenessMs }) => (latenessMs === null ? '-' : duration(latenessMs)),
      align: 'right',
      dispensable: 3,
    },
    {
      header: 'TOOK',
      value: ({ durationMs }) => (durationMs === null ? '-' : duration(durationMs)),
      align: 'right',
      dispensable: 2,
    },
    {
      header: 'TRY',
      value: (execution) => `${execution.attempt}/${execution.maxAttempts}`,
      align: 'right',
      dispensable: 4,
    },
    { header: 'WHY', value: whyOf, flexible: true },
  ]
}

/** Why it is as it is: the reason, or the last error. */
export function whyOf({ reason, error, skippedCount }: Execution): string {
  const times = skippedCount !== null && skippedCount > 1 ? ` x ${skippedCount}` : ''
  const what = error ? `${error.name}: ${error.message}` : ''
  return [reason && `${reason}${times}`, what].filter(Boolean).join('  ')
}
