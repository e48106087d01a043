import { type EventTypeFilter, eventFilters } from '@carillon/contract'
import { type Command, InvalidArgumentError } from 'commander'
import { act, type Context } from '../context.ts'
import { detailsOf, stateOf, subjectOf } from '../event-text.ts'
import { jobIdOf } from '../job-reference.ts'
import { onShutdown } from '../shutdown.ts'
import { clockTime } from '../times.ts'

interface EventsOptions {
  type?: EventTypeFilter[]
  job?: string
  after?: number
}

/** `carillon events`: prints what happens, as it happens, until it is stopped. */
export function registerEvents(program: Command): void {
  program
    .command('events')
    .description('print what happens to jobs and executions, as it happens')
    .option('--type <type>', 'only these; may be repeated. `execution.*` is all about executions', typeArgument)
    .option('--job <id or key>', 'only of this job')
    .option('--after <event id>', 'first what happened after this event', idArgument)
    .addHelpText(
      'after',
      `\nTypes: ${eventFilters.join(', ')}\n\nExample:\n  $ carillon events --type execution.dead --json | jq .jobId`,
    )
    .action(act(tail))
}

function typeArgument(text: string, before: EventTypeFilter[] = []): EventTypeFilter[] {
  const given = text.split(',').map((type) => type.trim())
  const unknown = given.find((type) => !(eventFilters as readonly string[]).includes(type))
  if (unknown !== undefined) throw new InvalidArgumentError(`${unknown} is none. Use ${eventFilters.join(', ')}.`)
  return [...before, ...(given as EventTypeFilter[])]
}

function idArgument(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give the id of an event, a whole number.')
  return Number(text)
}

const typeWidth = Math.max(...eventFilters.map(({ length }) => length))

async function tail({ node, out }: Context, options: EventsOptions): Promise<void> {
  const { signal } = onShutdown(out)
  const { type: types, job, after: lastEventId } = options
  const jobId = job === undefined ? undefined : await jobIdOf(node, job)
  for await (const event of node.events({ types, jobId, lastEventId, signal })) {
    out.document(event)
    if (event.type === 'reset') {
      out.note('Events may be missing here: read the lists.')
      continue
    }
    const type = out.state(stateOf(event))(event.type.padEnd(typeWidth))
    const id = out.style('dim', event.executionId ?? event.jobId)
    out.line(`${clockTime(event.at)}  ${type}  ${id}  ${subjectOf(event)}  ${detailsOf(event)}`.trimEnd())
  }
}
