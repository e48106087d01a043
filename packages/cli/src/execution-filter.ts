/** Which executions: the same options for listing, cancelling, retrying, copying, replaying and purging. */
import { type ExecutionFilter, executionStates, origins } from '@carillon/contract'
import { systemClock } from '@carillon/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { jobIdOf } from './job-reference.ts'
import type { NodeClient } from './node-client.ts'
import { instantArgument } from './times.ts'

export interface FilterOptions {
  state?: ExecutionFilter['state']
  job?: string
  handler?: string
  pool?: string
  origin?: ExecutionFilter['origin']
  error?: string
  reason?: string
  label?: Record<string, string>
  from?: string
  to?: string
}

/** `pool`: the option's name, where --pool means another one. */
export function addFilterOptions(
  command: Command,
  { state = true, pool = '--pool' }: { state?: boolean; pool?: string } = {},
): Command {
  if (state) command.addOption(new Option('--state <state>', 'in this state').choices(executionStates))
  const time = instantArgument(() => systemClock.now())
  return command
    .option('--job <id or key>', 'of this job')
    .option('--handler <name>', 'of this handler')
    .option(`${pool} <name>`, 'in this pool')
    .addOption(new Option('--origin <origin>', 'born so').choices(origins))
    .option('--error <name>', 'whose last error has this name; an empty one: without an error')
    .option('--reason <word>', 'that ended for this reason')
    .option('--label <name=text>', 'with this label; may be repeated', label)
    .option('--from <time>', 'scheduled from then on: ISO 8601, or before now such as 2h', time)
    .option('--to <time>', 'scheduled before then', time)
}

/** As a filter; null when nothing was said. */
export async function filterOf(node: NodeClient, options: FilterOptions): Promise<ExecutionFilter | null> {
  const { state, job, handler, pool, origin, error, reason, label, from, to } = options
  const jobId = job === undefined ? undefined : await jobIdOf(node, job)
  const filter = { state, jobId, handler, pool, origin, error, reason, labels: label, from, to }
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  return given.length === 0 ? null : (Object.fromEntries(given) as ExecutionFilter)
}

/** The same filter in the query of a list. */
export function queryOf(filter: ExecutionFilter | null) {
  const { labels, ...fields } = filter ?? {}
  return { ...fields, ...(labels && { label: labelQuery(labels) }) }
}

export function labelQuery(labels: Record<string, string>): string[] {
  return Object.entries(labels).map(([name, text]) => `${name}:${text}`)
}

/** Gathers `--limit a --limit b`. */
export function collect(text: string, before: string[] = []): string[] {
  return [...before, text]
}

/** Gathers `--label a=b --label c=d`. */
export function label(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('Give name=text, such as team=billing.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
