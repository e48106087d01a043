import { type DayFields, dayFieldPolicies, dstGaps, dstOverlaps } from '@carillon/contract'
import { systemClock } from '@carillon/sdk'
import { type Command, Option } from 'commander'
import { act, type Context } from '../context.ts'
import { showFires } from '../fires.ts'
import { wholeNumber } from '../pages.ts'
import { instantArgument } from '../times.ts'

/** `carillon next '<cron>'`: when a schedule would fire, and what changes of the clock do to it. Computed here; no node is asked. */
export function registerNext(program: Command): void {
  program
    .command('next <schedule>')
    .description('when a cron expression, an interval such as PT15M, or a local time would fire; needs no node')
    .option('--tz <zone>', 'the zone it is read in', 'UTC')
    .option('--count <count>', 'so many', wholeNumber(1), 10)
    .option(
      '--after <time>',
      'from then on: ISO 8601',
      instantArgument(() => systemClock.now()),
    )
    .addOption(new Option('--gap <policy>', 'a time that does not exist').choices(dstGaps))
    .addOption(new Option('--overlap <policy>', 'a time that comes twice').choices(dstOverlaps))
    .addOption(new Option('--day-fields <policy>', 'both day fields restricted').choices(dayFieldPolicies))
    .addHelpText(
      'after',
      `
Examples:
  $ carillon next '30 2 * * *' --tz America/New_York --after 2030-03-09
  $ carillon next 2030-03-10T02:30 --tz America/New_York
  $ carillon next '0 9 * * MON#1' --tz Europe/Berlin --count 3`,
    )
    .action(act(next))
}

interface NextOptions {
  tz: string
  count: number
  after?: string
  gap?: (typeof dstGaps)[number]
  overlap?: (typeof dstOverlaps)[number]
  dayFields?: DayFields
}

async function next({ out, now }: Context, options: NextOptions, schedule: string): Promise<void> {
  const { previewFires } = await import('@carillon/server/administration')
  const { tz: timezone, count, gap, overlap, dayFields } = options
  const { fires, clockChanges } = previewFires({
    ...timesOf(schedule),
    ...(dayFields && { dayFields }),
    timezone,
    count,
    after: options.after ?? Math.floor(now()),
    dst: { ...(gap && { gap }), ...(overlap && { overlap }) },
  })
  const shown = fires.map(({ scheduledFor, dueAt, local, dst }) => ({
    scheduledFor: scheduledFor.toISOString(),
    dueAt: dueAt.toISOString(),
    local,
    dst,
  }))
  const changes = clockChanges.map(({ at, ...change }) => ({ ...change, at: at.toISOString() }))
  showFires(out, { timezone, fires: shown, clockChanges: changes, now: now() })
}

function timesOf(schedule: string) {
  if (/^P/i.test(schedule)) return { interval: schedule }
  return /^\d{4}-\d\d-\d\dT/i.test(schedule) ? { runAt: schedule } : { schedule }
}
