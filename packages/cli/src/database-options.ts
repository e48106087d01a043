/** Commands that work on the database itself: by its URL, or through the data directory of an embedded PostgreSQL. */
import { type Command, Option } from 'commander'
import type { Context } from './context.ts'
import { UsageError } from './failure.ts'

export interface DatabaseOptions {
  databaseUrl?: string
  directUrl?: string
  data?: string
}

export function addDatabaseOptions(command: Command): Command {
  return command
    .addOption(new Option('--database-url <url>', 'a PostgreSQL database').env('DATABASE_URL'))
    .addOption(
      new Option(
        '--direct-url <url>',
        'PostgreSQL itself, if --database-url leads to PgBouncer in transaction mode',
      ).env('CARILLON_DIRECT_URL'),
    )
    .option('--data <directory>', 'an embedded PostgreSQL in this directory; goes before DATABASE_URL')
}

/** Exactly one of the two, or neither. */
export function databasePlace({ command }: Context, { databaseUrl, directUrl, data }: DatabaseOptions) {
  if (data === undefined)
    return databaseUrl === undefined ? {} : { databaseUrl, ...(directUrl !== undefined && { directUrl }) }
  if (command.getOptionValueSource('databaseUrl') === 'cli')
    throw new UsageError({ message: '--data and --database-url name two databases', hint: 'Give one of them' })
  return { dataDir: data }
}
