/** Times to come as people read them, with what changes of the clock do to them. */
import type { Fires } from './schemas/fires.ts'

type Fire = Fires['fires'][number]

export interface FireRow {
  /** What it stands at in the order of time. */
  at: string
  /** On the clock of the zone. */
  local: string
  /** Null: it does not fire. */
  scheduledFor: string | null
  /** What a change of the clock does to it; empty: nothing. */
  remark: string
}

const remarks: Record<string, string> = {
  SHIFTED: 'the clock jumps over this time: it runs as far after the jump',
  FIRST: 'the clock shows this time twice: it runs the first time',
  SECOND: 'the clock shows this time twice: it runs the second time',
}
const runsTwice = 'the clock shows this time twice: it runs both times'

/** The fires and, between them, the times that the clock takes away. */
export function fireRows({ fires, clockChanges: changes }: Pick<Fires, 'fires' | 'clockChanges'>): FireRow[] {
  const doubled = changes.filter(({ effect }) => effect === 'BOTH')
  const rows = fires.map((fire, i): FireRow => {
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
  const order = ({ at, scheduledFor }: FireRow) => Date.parse(at) - (scheduledFor === null ? 0.5 : 0)
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
