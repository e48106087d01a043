/** Times to come, as a table: on the clock of the zone, in UTC, how far away, and what changes of the clock do to them. */
import { type FireRow, type Fires, fireRows } from '@carillon/contract'
import type { Output } from './output.ts'
import { absolute, relative } from './times.ts'

interface Shown extends Fires {
  /** Of the job, if it is one's. */
  state?: string
  now: number
}

export function showFires(out: Output, { now, ...answer }: Shown): void {
  out.document(answer)
  const { timezone, fires, clockChanges } = answer
  if (out.json) return
  const rows = fireRows({ fires, clockChanges })
  const marked = rows.some(({ remark }) => remark !== '')
  out.table(
    rows,
    [
      { header: timezone, value: (row) => `${weekday(row.local)} ${spaced(row.local)}` },
      { header: 'UTC', value: (row) => (row.scheduledFor === null ? '-' : absolute(row.scheduledFor)) },
      { header: '', value: (row) => (row.scheduledFor ? relative(Date.parse(row.scheduledFor), now) : '') },
      ...(marked
        ? [
            {
              header: 'CLOCK',
              value: ({ remark }: FireRow) => remark,
              paint: () => (text: string) => out.style('yellow', text),
              flexible: true,
            },
          ]
        : []),
    ],
    'It does not fire again.',
  )
}

function spaced(local: string): string {
  return local.replace('T', ' ').replace(/([+-]\d\d:\d\d|Z)$/, ' $1')
}

function weekday(local: string): string {
  const names = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
  return names[new Date(`${local.slice(0, 10)}T00:00:00Z`).getUTCDay()]!
}
