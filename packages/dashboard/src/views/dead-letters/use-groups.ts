import type { DeadLetterGroups } from '@carillon/contract'
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { call } from '../../lib/api.ts'
import { currentTime } from '../../lib/clock.ts'
import type { Filters } from '../../lib/filters.ts'
import { nowReachable } from '../../lib/reach.ts'
import { filterOf, questionOf } from './filter.ts'

const askEveryMs = 10_000

/** Times are taken when it asks, so that `the last hour` moves on. */
export function useGroups(filters: Filters): UseQueryResult<DeadLetterGroups> {
  return useQuery({
    queryKey: ['groupDeadLetters', questionOf(filters)],
    queryFn: ({ signal }) => {
      const { state: _, labels: __, ...query } = filterOf(filters, currentTime())
      return call('groupDeadLetters', { query, signal })
    },
    placeholderData: keepPreviousData,
    refetchInterval: () => nowReachable() && askEveryMs,
  })
}
