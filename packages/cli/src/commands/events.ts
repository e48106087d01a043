import { type EventTypeFilter, eventFilters } from '@carillon/contract'
import { type Command, InvalidArgumentError } from 'commander'
import { act, type Context } from '../context.ts'
import { addDatabaseOptions, type DatabaseOptions, databasePlace } from '../database-options.ts'
import { detailsOf, stateOf, subjectOf } from '../event-text.ts'
import { Negative } from '../failure.ts'
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
  const events = program
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
  addDatabaseOptions(events.command('subscriptions'))
    .description('subscriptions to events and audit, and how far they lag behind; reads the database')
    .action(act(listSubscriptions))
  addDatabaseOptions(events.command('unsubscribe <name>'))
    .description('end a subscription: what it has not delivered is not kept for it any more. Changes the database')
    .addHelpText(
      'after',
      '\nExample:\n  $ carillon events unsubscribe kafka --database-url postgres://carillon@db/carillon',
    )
    .action(act(unsubscribe))
}

async function listSubscriptions(context: Context, options: DatabaseOptions): Promise<void> {
  const { listSubscriptions } = await import('@carillon/server/administration')
  const subscriptions = await listSubscriptions(databasePlace(context, options))
  context.out.table(
    subscriptions,
    [
      { header: 'NAME', value: ({ name }) => name },
      { header: 'SOURCE', value: ({ source }) => source },
      { header: 'POSITION', value: ({ position }) => String(position ?? '') },
      { header: 'LAG', value: ({ lag }) => String(lag) },
      { header: 'OLDEST', value: ({ lagMs }) => `${Math.round(lagMs / 1_000)} s` },
      { header: 'DROPPED', value: ({ dropped }) => String(dropped) },
      { header: 'SERVED BY', value: ({ servedBy }) => servedBy ?? '', flexible: true },
    ],
    'No subscriptions.',
  )
}

async function unsubscribe(context: Context, options: DatabaseOptions, name: string): Promise<void> {
  const { out } = context
  const { endSubscription } = await import('@carillon/server/administration')
  const ended = await endSubscription(databasePlace(context, options), name)
  out.document({ name, ended })
  if (!ended) {
    out.note(`There is no subscription ${name}.`)
    throw new Negative()
  }
  out.line(`The subscription ${name} has ended.`)
  out.note('Nodes with --publish-events create it again when they start: restart them without it.')
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
