/** Whole lives as in scenario `life`, of all sides, with every server on this machine. Told, not judged. */
import type { Installation } from '../ground/ground.ts'
import { inTurns, type Round, resultOf } from '../measure/rounds.ts'
import type { Bench, Result } from '../scenario.ts'
import { live } from '../scenarios/life.ts'
import { allSides, countsDetail, countsOf, openSide, type Side, untilUsed, withNodes } from './sides.ts'

export async function measureLife(bench: Bench): Promise<Result[]> {
  const seconds = bench.size(30, 3)
  await using opened = new AsyncDisposableStack()
  const turns: (Side & { installation: Installation })[] = []
  for (const side of await allSides(bench))
    turns.push({ ...side, installation: opened.use(await openSide(bench, side)) })
  const what = { unit: '/s', valueOf: ({ value }: Round) => value }
  const measured = await inTurns(bench, turns, what, ({ installation, settings }) =>
    withNodes(installation, { count: 1 }, async () => {
      const round = await live(bench, installation, seconds, {
        beforehand: (workers) => untilUsed(installation, workers, settings),
      })
      return { ...round, detail: { ...round.detail, ...countsDetail(await countsOf(installation)) } }
    }),
  )
  const told = { unit: '/s', target: null, better: 'higher', detail: { seconds } } as const
  return [...measured].map(([{ name }, rounds]) => resultOf({ name: `scale-out life, ${name}`, ...told }, rounds))
}
