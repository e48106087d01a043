import type { JobVersion } from '@carillon/contract'
import type { Command } from 'commander'
import { changedFields } from '../apply/differences.ts'
import { showDifferences } from '../apply/show-plan.ts'
import { act, type Context } from '../context.ts'
import { jobIdOf } from '../job-reference.ts'
import { limitOption, list } from '../pages.ts'
import { printable } from '../table.ts'
import { when } from '../times.ts'

export function registerVersions(jobs: Command): void {
  jobs
    .command('versions <job>')
    .description('what it was and is, newest first, and what each version changed')
    .option(...limitOption)
    .action(act(showVersions))
}

async function showVersions(context: Context, { limit }: { limit: number }, reference: string): Promise<void> {
  const { node, out } = context
  const jobId = await jobIdOf(node, reference)
  // One more, to say what the oldest of them changed.
  const { items } = await list(limit + 1, (query) => node.call('listJobVersions', { params: { jobId }, query }))
  items.slice(0, limit).forEach((version, i) => {
    out.document(version)
    showVersion(context, version, items[i + 1])
  })
  if (items.length > limit) out.note(`There are more: --limit ${limit * 10}`)
}

function showVersion({ out, now }: Context, version: JobVersion, before: JobVersion | undefined): void {
  const { since, changedBy, definition } = version
  const who = changedBy === null ? '' : ` by ${printable(changedBy)}`
  const held = version.until === null ? ', holds now' : ''
  out.line(`${out.style('bold', `version ${version.version}`)}  ${when(since, now())}${who}${held}`)
  if (before !== undefined) showDifferences(out, changedFields(before.definition, definition))
  else out.line(out.style('dim', version.version === 1 ? '    as it was created' : '    what was before is not kept'))
}
