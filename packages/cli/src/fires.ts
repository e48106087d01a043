/** Times to come, as a table: on the clock of the zone, in UTC, how far away, and what changes of the clock do to them. */
import type { Fires } from '@carillon/contract'
import type { Output } from './output.ts'
import { absolute, relative } from './times.ts'

type Fire = Fires['fires'][number]
type ClockChange = Fires['clockChanges'][number]

interface Row {
  at: string
  local: string
  /** Null: it does not fire. */
  scheduledFor: string | null
  remark: string
}

const remarks: Record<string, string> = {
  SHIFTED: 'the clock jumps over this time: it runs as far after the jump',
  FIRST: 'the clock shows this time twice: it runs the first time',
  SECOND: 'the clock shows this time twice: it runs the second time',
}
const runsTwice = 'the clock shows this time twice: it runs both times'

interface Shown extends Fires {
  /** Of the job, if it is one's. */
  state?: string
  now: number
}

export function showFires(out: Output, { now, ...answer }: Shown): void {
  out.document(answer)
  const { timezone, fires, clockChanges } = answer
  if (out.json) return
  const rows = rowsOf(fires, clockChanges)
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
              value: ({ remark }: Row) => remark,
              paint: () => (text: string) => out.style('yellow', text),
              flexible: true,
            },
          ]
        : []),
    ],
    'It fires no more.',
  )
}

/** The fires and, between them, the times that the clock takes away. */
function rowsOf(fires: readonly Fire[], changes: readonly ClockChange[]): Row[] {
  const doubled = changes.filter(({ effect }) => effect === 'BOTH')
  const rows = fires.map((fire, i): Row => {
    const twice = fire.dst !== null && fire.dst !== 'SHIFTED' && doubled.some(({ at }) => isNear(at, fire.scheduledFor))
    const remark =
      fire.dst === null ? changeOf(fires[i - 1], fire) : twice ? runsTwice : (remarks[fire.dst] ?? fire.dst)
    return { at: fire.scheduledFor, local: fire.local, scheduledFor: fire.scheduledFor, remark }
  })
  for (const { at, effect, local, count } of changes) {
    if (effect !== 'SKIPPED' && effect !== 'MERGED') continue
    const others = count > 1 ? ` (and ${count - 1} more)` : ''
    const what = effect === 'SKIPPED' ? 'it does not run' : 'moved, it falls on a time that runs anyway'
    rows.push({ at, local, scheduledFor: null, remark: `the clock jumps over this time${others}: ${what}` })
  }
  // A time that is taken away stands before what runs at the moment of the change.
  const order = ({ at, scheduledFor }: Row) => Date.parse(at) - (scheduledFor === null ? 0.5 : 0)
  return rows.sort((a, b) => order(a) - order(b))
}

function isNear(change: string, fire: string): boolean {
  return Math.abs(Date.parse(change) - Date.parse(fire)) <= 86_400_000
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
