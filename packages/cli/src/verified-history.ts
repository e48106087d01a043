/** `carillon verify --history`: what the nodes have found by themselves. */
import type { Verified } from '@carillon/contract'
import type { Context } from './context.ts'
import { Negative } from './failure.ts'
import { absolute } from './times.ts'

type Figures = Verified['total']

export async function showHistory({ node, out }: Context): Promise<void> {
  const verified = await node.call('getVerified', {})
  const { since, until, stuckNow, total } = verified
  const isBad = foundIn(total) + stuckNow > 0
  out.document(verified)
  if (out.json) {
    if (isBad) throw new Negative()
    return
  }
  if (since === null || until === null) return out.note('Nothing was compared yet.')
  out.line(`Compared from ${absolute(since)} to ${absolute(until)}; stuck now: ${stuckNow}`)
  out.line()
  const days = [...byDay(verified.hours), { day: 'in all', ...total }]
  const count = (name: keyof Figures) => ({
    header: name.toUpperCase(),
    value: (row: (typeof days)[number]) => row[name],
    align: 'right' as const,
  })
  out.table(
    days,
    [
      { header: 'DAY', value: ({ day }) => day },
      ...(['occurrences', 'missed', 'doubled', 'stuck', 'wrong', 'lost', 'late'] as const).map(count),
    ],
    '',
  )
  if (isBad) throw new Negative()
}

function byDay(hours: Verified['hours']): ({ day: string } & Figures)[] {
  const days = new Map<string, { day: string } & Figures>()
  for (const { at, ...figures } of hours) {
    const day = at.slice(0, 10)
    const sum = days.get(day)
    if (sum === undefined) days.set(day, { day, ...figures })
    else for (const name of Object.keys(figures) as (keyof Figures)[]) sum[name] += figures[name]
  }
  return [...days.values()]
}

function foundIn({ missed, doubled, stuck, wrong, lost }: Figures): number {
  return missed + doubled + stuck + wrong + lost
}
