/** How views ask the node: one key for one question, so that two views that ask the same share the answer. */
import { keepPreviousData, QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { type AnswerTo, type CallOf, call, type OperationId, Refusal } from './api.ts'
import { nowReachable, onReach } from './reach.ts'
import { onSession } from './session.ts'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      refetchOnWindowFocus: true,
      // A node that is away is asked by lib/reach.ts alone: no view asks on its own.
      retry: (failures, error) => nowReachable() && failures < 2 && !(error instanceof Refusal && error.status < 500),
    },
  },
})

onReach(() => {
  if (nowReachable()) void queryClient.invalidateQueries()
})

// What one caller was shown, the next one is not.
onSession(() => queryClient.clear())

export interface AskOptions {
  /** Asks again after this time while the page is visible and the node answers. */
  everyMs?: number
  enabled?: boolean
}

export function useAsk<Id extends OperationId>(
  id: Id,
  wanted: Omit<CallOf<Id>, 'signal'>,
  { everyMs, enabled = true }: AskOptions = {},
): UseQueryResult<AnswerTo<Id>> {
  return useQuery({
    queryKey: [id, wanted],
    queryFn: ({ signal }) => call(id, { ...wanted, signal } as CallOf<Id>),
    placeholderData: keepPreviousData,
    refetchInterval: () => everyMs !== undefined && nowReachable() && everyMs,
    enabled,
  })
}

/** What an action has changed is asked for again. */
export function changed(...ids: OperationId[]): Promise<unknown> {
  return Promise.all(ids.map((id) => queryClient.invalidateQueries({ queryKey: [id] })))
}
