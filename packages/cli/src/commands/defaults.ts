import { defaults, limits } from '@carillon/contract'
import type { Command } from 'commander'
import { act } from '../context.ts'

/** `carillon defaults`: what a job gets when it does not say otherwise. */
export function registerDefaults(program: Command): void {
  program
    .command('defaults')
    .description('what a job gets when it does not say otherwise, and the limits')
    .action(
      act(async ({ out }) => {
        if (out.json) return out.document({ defaults, limits })
        const rows = [...flat(defaults), ...flat(limits, 'limits.')]
        const columns = [
          { header: 'FIELD', value: (row: Row) => row.field },
          { header: 'VALUE', value: (row: Row) => row.value },
          { header: 'MEANING', value: (row: Row) => meanings[row.field] ?? '', flexible: true },
        ]
        out.table(rows, columns, '')
      }),
    )
}

interface Row {
  field: string
  value: string
}

function flat(values: object, prefix = ''): Row[] {
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null
      ? flat(value, `${prefix}${name}.`)
      : [{ field: prefix + name, value: String(value) }],
  )
}

const meanings: Record<string, string> = {
  timezone: 'the zone a cron expression is read in',
  'dst.gap': 'a time that does not exist runs as far after the jump as it lay after its hour',
  'dst.overlap': 'a time that comes twice runs the first time',
  dayFields: 'a cron with both day fields restricted fires if either matches',
  'retryPolicy.maxAttempts': 'tries in all; the first one counts',
  'retryPolicy.jitter': 'a random part of this share of the delay is added',
  timeoutSec: 'for each attempt',
  overlap: 'a job may run beside itself',
  misfire: 'of what was missed the latest runs',
  misfireAfterSec: 'not fired this long after it was due: a misfire',
  maxCatchUp: 'the most that FIRE_ALL catches up',
  retentionDays: 'how long history is kept',
  unknownHandlerSec: 'without a worker that knows the handler for this long: a dead letter',
  cancelGraceSec: 'from cancel or timeout to losing the lease',
}
