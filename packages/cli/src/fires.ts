/** Times to come, as a table: on the clock of the zone, in UTC, how far away, and where the clock is changed. */
import type { Output } from './output.ts'
import { absolute, relative } from './times.ts'

export interface Fire {
  scheduledFor: string
  dueAt: string
  local: string
  dst: string | null
}

const remarks: Record<string, string> = {
  SHIFTED: 'the clock jumps over this time: it runs as far after the jump',
  FIRST: 'the clock shows this time twice: it runs the first time',
  SECOND: 'the clock shows this time twice: it runs the second time',
}

export function showFires(
  out: Output,
  { now, ...answer }: { timezone: string; fires: readonly Fire[]; state?: string; now: number },
): void {
  out.document(answer)
  const { timezone, fires } = answer
  if (out.json) return
  const rows = fires.map((fire, i) => ({ ...fire, change: changeOf(fires[i - 1], fire) }))
  const marked = rows.some((row) => remarkOf(row) !== '')
  out.table(
    rows,
    [
      { header: timezone, value: (row) => `${weekday(row.local)} ${spaced(row.local)}` },
      { header: 'UTC', value: (row) => absolute(row.scheduledFor) },
      { header: '', value: (row) => relative(Date.parse(row.scheduledFor), now) },
      ...(marked
        ? [
            {
              header: 'CLOCK',
              value: remarkOf,
              paint: () => (text: string) => out.style('yellow', text),
              flexible: true,
            },
          ]
        : []),
    ],
    'It fires no more.',
  )
}

function remarkOf(row: Fire & { change: string }): string {
  return row.dst === null ? row.change : (remarks[row.dst] ?? row.dst)
}

/** The offset is another one than at the fire before. */
function changeOf(before: Fire | undefined, fire: Fire): string {
  const [was, is] = [before && offsetOf(before.local), offsetOf(fire.local)]
  return was === undefined || was === is ? '' : `the clock was changed: ${was} -> ${is}`
}

function offsetOf(local: string): string {
  return /(Z|[+-]\d\d:\d\d)$/.exec(local)?.[0] ?? ''
}

function spaced(local: string): string {
  return local.replace('T', ' ').replace(/([+-]\d\d:\d\d|Z)$/, ' $1')
}

function weekday(local: string): string {
  const names = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
  return names[new Date(`${local.slice(0, 10)}T00:00:00Z`).getUTCDay()]!
}
