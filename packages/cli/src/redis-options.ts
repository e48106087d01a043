import { type Command, Option } from 'commander'

export interface RedisOptions {
  hotWindow?: string
  signals?: string
}

export function addRedisOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--hot-window <url>',
        'Redis for what is due in the coming hour, instead of PostgreSQL: redis://host:6379',
      ).env('CARILLON_HOT_WINDOW'),
    )
    .addOption(
      new Option(
        '--signals <url>',
        'Redis for signals, heartbeats and status, instead of PostgreSQL: redis://host:6379',
      ).env('CARILLON_SIGNALS'),
    )
}
