import type { DagRun } from '@carillon/contract'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { call } from '../../lib/api.ts'
import { changed } from '../../lib/queries.ts'
import { nowReachable } from '../../lib/reach.ts'
import { isOver } from './run-mark.tsx'

const askEveryMs = 2_000
/** An answer with many steps is hundreds of kilobytes. */
const manySteps = 250
const manyEveryMs = 5_000

/** A run with its steps; asked for again until it has ended. */
export function useRun(runId: string): UseQueryResult<DagRun> {
  return useQuery({
    queryKey: ['getDagRun', runId],
    queryFn: ({ signal }) => call('getDagRun', { params: { runId }, signal }),
    refetchInterval: ({ state: { data } }) =>
      nowReachable() && data !== undefined && !isOver(data) && (data.stepCount > manySteps ? manyEveryMs : askEveryMs),
  })
}

/** Something was done to it. */
export function runChanged(): Promise<unknown> {
  return changed('getDagRun', 'listDagRuns', 'explainExecution')
}
