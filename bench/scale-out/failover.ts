/**
 * Fail-over as in scenario `failover`, of both sides: some kills in each turn, on a database of its own. The medians of all
 * gaps are compared.
 */
import { inTurns, type Round, resultOf, spreadOf, tidy } from '../measure/rounds.ts'
import { type Bench, judged, type Result } from '../scenario.ts'
import { type FailOver, failOver, nodeCount } from '../scenarios/failover.ts'
import { allFour, openSide, postgresAlone, withNodes } from './sides.ts'

/** No longer than with PostgreSQL alone. A gap depends on when in its second the node is killed, so that much is noise. */
const target = 1.1

export async function measureFailover(bench: Bench): Promise<Result[]> {
  const options = { jobs: bench.size(2_000, 200), times: bench.size(2, 1), calmMs: bench.size(5_000, 2_000) }
  const sides = [postgresAlone, await allFour(bench)]
  const what = { unit: 'ms', valueOf: ({ gaps }: FailOver) => Math.max(...gaps) }
  const measured = await inTurns(bench, sides, what, async (side) => {
    await using installation = await openSide(bench, side)
    return await withNodes(installation, { count: nodeCount }, () => failOver(bench, installation, options))
  })
  const [alone, four] = sides.map((side) => measured.get(side)!) as [FailOver[], FailOver[]]
  const medianOf = (turns: FailOver[]) => spreadOf(turns.flatMap(({ gaps }) => gaps)).median
  const told = { unit: 'ms', target: null, better: 'lower' } as const
  return [
    judged({
      name: 'scale-out failover due to fired, all four / PostgreSQL alone',
      value: tidy(medianOf(four) / medianOf(alone)),
      ...{ unit: 'x', target, better: 'lower' },
    }),
    ...[alone, four].map((all, i) =>
      resultOf({ name: `scale-out failover due to fired, ${sides[i]!.name}`, ...told }, all.flatMap(roundsOf)),
    ),
    judged({
      name: 'scale-out failover missing or doubled',
      value: [...alone, ...four].reduce((sum, { ledger }) => sum + ledger.missing + ledger.doubled, 0),
      ...{ unit: 'occurrences', target: 0, better: 'lower' },
    }),
  ]
}

/** A round of each kill. */
function roundsOf({ gaps, calmGap, evenAfterMs, twice, shares }: FailOver): Round[] {
  return gaps.map((value, n) => ({
    value,
    detail: {
      'before the first kill ms': calmGap,
      'even again after ms': evenAfterMs[n]!,
      'handlers begun twice': twice,
      ...shares,
    },
  }))
}
