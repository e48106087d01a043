import { CarillonError } from '@carillon/contract'
import { type Command, Option } from 'commander'
import { Document, type YAMLMap } from 'yaml'
import { act, type Context } from '../context.ts'
import { type Note, parseCrontab } from '../crontab/parse.ts'
import { type ImportedJob, importLines } from '../crontab/to-manifest.ts'
import { Negative } from '../failure.ts'
import { readText } from '../files.ts'

const localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** `carillon import crontab <file>`: jobs out of what a team has now. */
export function registerImport(program: Command): void {
  const imports = program.command('import').description('jobs out of what you have now: crontab')
  imports
    .command('crontab <file>')
    .description('print a carillon.yaml that does what a crontab does; - is stdin')
    .option('--system', 'a system crontab, with a column for the user')
    .addOption(
      new Option('--target <kind>', 'run the commands by the nodes’ shell target, or name handlers to be written')
        .choices(['shell', 'handler'])
        .default('shell'),
    )
    .option('--tz <zone>', 'the zone cron runs in, where the crontab does not say', localZone)
    .option('--managed-by <name>', 'the owner of the jobs', 'crontab')
    .addHelpText(
      'after',
      `
What cannot be carried over, or means something else to cron, is said line by line on stderr; if a line is lost, the exit
code is 1.

Shell targets run only where the operator has put the shell on the list of commands that a node may run. Every caller that may
create jobs there can run anything: with --target handler a worker of yours runs the commands instead.

Examples:
  $ crontab -l | carillon import crontab - > carillon.yaml
  $ carillon import crontab --system /etc/crontab --target handler`,
    )
    .action(act(importCrontab))
}

interface ImportOptions {
  system?: boolean
  target: 'shell' | 'handler'
  tz: string
  managedBy: string
}

async function importCrontab({ out, now }: Context, options: ImportOptions, path: string): Promise<void> {
  const { previewFires } = await import('@carillon/server/administration')
  const { target, tz: timezone, managedBy, system = false } = options
  const parsed = parseCrontab(await readText(path), { system })
  const { jobs, notes } = importLines(parsed.lines, {
    managedBy,
    timezone,
    target,
    checkSchedule(schedule, zone) {
      try {
        const { fires } = previewFires({ schedule, timezone: zone, after: Math.floor(now()), count: 1 })
        return fires.length > 0 ? null : `${schedule} never comes`
      } catch (error) {
        if (error instanceof CarillonError) return error.message
        throw error
      }
    },
  })
  const all = [...parsed.notes, ...notes].sort((a, b) => a.line - b.line)
  if (out.json) out.document({ managedBy, jobs: jobs.map(({ job }) => job), notes: all })
  else out.raw(yamlOf(managedBy, jobs, { target, path }))
  for (const { line, message, lost } of all) {
    out.note(`line ${line}: ${message}${lost ? out.style('red', ' (left out)', process.stderr) : ''}`)
  }
  sayTotal(out, jobs, all)
}

function sayTotal(out: Context['out'], jobs: readonly ImportedJob[], notes: readonly Note[]): void {
  const lost = notes.filter((note) => note.lost).length
  out.note(`${jobs.length} jobs. Check them, then: carillon apply -f carillon.yaml`)
  if (lost > 0) throw new Negative(`${lost} ${lost === 1 ? 'line was' : 'lines were'} left out.`)
}

function yamlOf(managedBy: string, jobs: readonly ImportedJob[], from: { target: string; path: string }): string {
  const document = new Document({ managedBy, jobs: jobs.map(({ job }) => job) })
  const needs =
    from.target === 'shell'
      ? ' The nodes must allow the shells named here (serve --allow-command sh=/bin/sh). Commands run in / with a short environment.'
      : ' Each handler gets {command, stdin} as its payload: write them, and start a worker with them.'
  document.commentBefore = ` From ${from.path === '-' ? 'a crontab' : from.path}. As cron does: one try, nothing caught up. Change what you like.\n${needs}`
  const list = document.get('jobs') as { items: YAMLMap[] }
  for (const [i, item] of list.items.entries()) item.commentBefore = ` line ${jobs[i]!.line}`
  return document.toString({ lineWidth: 0 })
}
