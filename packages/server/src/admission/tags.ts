/** Gives new work its place in the queue: tags, reserved before the transaction that uses them. */
import { equalWeights, type Flow, groupByFlow, tagsFor } from '../domain/fairness.ts'
import type { Database } from '../store/database.ts'
import { reserveTags } from '../store/executions/reserve-tags.ts'
import type { VirtualTimes } from './virtual-times.ts'

export type TagFlows = (flows: readonly Flow[]) => Promise<number[]>

/** Answers one tag per flow entry, in the order given. */
export function createTagger(database: Database, virtualTimes: VirtualTimes, weightOf = equalWeights): TagFlows {
  return async (flows) => {
    if (flows.length === 0) return []
    await virtualTimes.refresh()
    const requests = groupByFlow(flows, weightOf)
    const ends = await reserveTags(
      database,
      requests.map((request) => ({ ...request, virtualTime: virtualTimes.of(request.pool, request.lane) })),
    )
    return tagsFor(flows, requests, ends)
  }
}
