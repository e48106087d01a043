/** Bulk commands on executions: count, confirm, then let the node do it while a bar shows the progress. */
import type { BulkInput, DryRun, ExecutionFilter, Operation } from '@carillon/contract'
import type { Context } from './context.ts'
import { Negative, UsageError } from './failure.ts'
import { followToEnd } from './progress.ts'

export interface BulkOptions {
  rate?: number
  dryRun?: boolean
  yes?: boolean
}

export interface Bulk {
  ask: (body: BulkInput) => Promise<DryRun | Operation>
  filter: ExecutionFilter | null
  options: BulkOptions
  /** `cancel`, and `cancelled` */
  verb: string
  done: string
  /** How to say which ones. */
  hint?: string
}

export async function bulk(context: Context, { ask, filter, options, verb, done, hint }: Bulk): Promise<void> {
  const { out } = context
  if (filter === null)
    throw new UsageError({
      message: `which ones should I ${verb}?`,
      hint: hint ?? 'Give ids, or a filter such as --job or --from',
    })
  const counted = await ask({ filter, dryRun: true })
  if (!('count' in counted)) throw new Error('a dry run was answered with an operation')
  const count = `${counted.exact ? '' : 'more than '}${counted.count}`
  if (options.dryRun) {
    out.document(counted)
    out.line(`${count} would be ${done}`)
    return
  }
  if (counted.count === 0) {
    if (out.json) return out.document(counted)
    throw new Negative('Nothing matches.')
  }
  await out.confirm(`${verb[0]!.toUpperCase()}${verb.slice(1)} ${count}?`, options.yes)
  const started = await ask({ filter, ratePerSec: options.rate })
  if ('operationId' in started) await followToEnd(context, started, done)
}
