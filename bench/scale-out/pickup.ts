/**
 * Idle pick-up as in scenario `pickup`: with PostgreSQL alone, with all settings of scale-out, and with all but the queue in Kafka. Single
 * submissions, which are handed over to the waiting worker, and batches of one, which are not and go through the queue.
 * Told, not judged.
 */
import type { EngineSettings } from '@carillon/server'
import type { Installation } from '../ground/ground.ts'
import { inTurns, type Round, resultOf } from '../measure/rounds.ts'
import type { Bench, Result } from '../scenario.ts'
import { type Pickups, pickUp } from '../scenarios/pickup.ts'
import {
  allButQueue,
  allFour,
  countsDetail,
  countsOf,
  openSide,
  postgresAlone,
  type Side,
  untilUsed,
  withNodes,
} from './sides.ts'

interface Measured {
  handedOver: Round
  queued: Round
}

export async function measurePickup(bench: Bench): Promise<Result[]> {
  const [samples, warmUp] = [bench.size(300, 30), bench.size(50, 10)]
  const four = await allFour(bench)
  const butQueue = allButQueue(four)
  await using alone = await openSide(bench, postgresAlone)
  await using scaledOut = await openSide(bench, four)
  const turns: (Side & { installation: Installation; changed?: EngineSettings })[] = [
    { ...postgresAlone, installation: alone },
    { ...four, installation: scaledOut },
    { ...butQueue, changed: butQueue.settings, installation: scaledOut },
  ]
  const what = { unit: 'ms handed over', valueOf: ({ handedOver }: Measured) => handedOver.value }
  const measured = await inTurns(bench, turns, what, ({ installation, settings, changed }) =>
    withNodes(installation, { count: 1, settings: changed }, async () => {
      await using workers = await installation.startWorkers(1, { record: true })
      await untilUsed(installation, workers, settings)
      await workers.runs()
      const sample = async (queued: boolean): Promise<Round> => {
        await pickUp(bench, installation, workers, { submissions: warmUp, queued })
        const before = await countsOf(installation)
        const pickups = await pickUp(bench, installation, workers, { submissions: samples, queued })
        const after = await countsOf(installation)
        const { published, fallbacks } = before
        const counts = { published: after.published - published, fallbacks: after.fallbacks - fallbacks }
        return { value: pickups.p50, detail: { ...detailOf(pickups), ...countsDetail(counts) } }
      }
      return { handedOver: await sample(false), queued: await sample(true) }
    }),
  )
  const told = { unit: 'ms', target: null, better: 'lower', detail: { samples } } as const
  const ways = { 'handed over': 'handedOver', queued: 'queued' } as const
  return Object.entries(ways).flatMap(([way, key]) =>
    [...measured].map(([{ name }, rounds]) =>
      resultOf(
        { name: `scale-out pickup p50 ${way}, ${name}`, ...told },
        rounds.map((round) => round[key]),
      ),
    ),
  )
}

function detailOf({ p95, p99, answerP50, cpu }: Pickups): Record<string, number> {
  return { 'p95 ms': p95, 'p99 ms': p99, 'answer p50 ms': answerP50, ...cpu }
}
