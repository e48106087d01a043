import type { Execution } from '@carillon/contract'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { call, Refusal } from '../../lib/api.ts'
import { changed, queryClient } from '../../lib/queries.ts'
import { nowReachable } from '../../lib/reach.ts'
import { isEnd } from './filter.ts'

const askEveryMs = 2_000

const keyOf = (executionId: string) => ['getExecution', executionId]

/** An execution; asked for again until it has ended. */
export function useExecution(executionId: string): UseQueryResult<Execution> {
  return useQuery({
    queryKey: keyOf(executionId),
    queryFn: ({ signal }) => call('getExecution', { params: { executionId }, signal }),
    refetchInterval: ({ state: { data, error } }) => {
      const isComing = isToCome(error)
      return nowReachable() && (data ? !isEnd(data.state) : isComing) && askEveryMs
    },
  })
}

export function isToCome(error: Error | null): boolean {
  return error instanceof Refusal && error.code === 'EXECUTION_TO_COME'
}

/** Heard from the stream of its lines, before it is asked for again. */
export function heardProgress(executionId: string, progress: unknown): void {
  queryClient.setQueryData<Execution>(keyOf(executionId), (known) => known && { ...known, progress })
}

/** Something was done to it, or it has ended. */
export function executionChanged(): Promise<unknown> {
  return changed('getExecution', 'explainExecution', 'listExecutions', 'listDeadLetters')
}
