/** Lists that the node answers a page at a time. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type AnswerTo, type CallOf, call, type OperationId } from './api.ts'
import { nowReachable } from './reach.ts'

type PageOf<Item> = { items: Item[]; nextCursor: string | null }
type PagedId = { [Id in OperationId]: AnswerTo<Id> extends PageOf<unknown> ? Id : never }[OperationId]
export type ItemOf<Id extends PagedId> = AnswerTo<Id> extends PageOf<infer Item> ? Item : never
type QueryOf<Id extends PagedId> = Omit<NonNullable<CallOf<Id>['query']>, 'cursor'>

/** An empty page with a cursor is followed this many times before the reader is asked. */
const emptyPages = 5

export interface Pages<Item> {
  /** Undefined until the first page is here. */
  items: Item[] | undefined
  error: Error | null
  /** The answer to the question before, shown until this one is answered. */
  isOld: boolean
  isLive: boolean
  hasMore: boolean
  busy: boolean
  more: () => void
  again: () => void
}

/**
 * `queryOf` is asked at each request, so that `the last hour` moves with time; `question` tells two lists apart. Asks again after
 * `everyMs` while the reader is at the top of the first page, so that nothing jumps under the eyes.
 */
export function usePages<Id extends PagedId>(
  id: Id,
  { question, queryOf, everyMs }: { question: object; queryOf: () => QueryOf<Id>; everyMs?: number },
): Pages<ItemOf<Id>> {
  const isAtTop = useAtTop()
  const asked = useInfiniteQuery({
    queryKey: [id, 'pages', question],
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...queryOf(), ...(pageParam !== null && { cursor: pageParam }) }
      return (await call(id, { query, signal } as unknown as CallOf<Id>)) as PageOf<ItemOf<Id>>
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      everyMs !== undefined && isAtTop && (state.data?.pages.length ?? 1) === 1 && nowReachable() && everyMs,
  })
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage } = asked
  const items = data?.pages.flatMap((page) => page.items)
  const looksOn = items?.length === 0 && hasNextPage && !isFetchingNextPage && data!.pages.length <= emptyPages
  useEffect(() => {
    if (looksOn) void fetchNextPage()
  }, [looksOn, fetchNextPage])
  return {
    items,
    error: asked.error,
    isOld: asked.isPlaceholderData,
    isLive: everyMs !== undefined && isAtTop && data?.pages.length === 1,
    hasMore: hasNextPage,
    busy: isFetchingNextPage,
    more: () => void fetchNextPage(),
    again: () => void asked.refetch(),
  }
}

const topPx = 80

function useAtTop(): boolean {
  const [isAtTop, set] = useState(true)
  useEffect(() => {
    const look = () => set(window.scrollY < topPx)
    look()
    window.addEventListener('scroll', look, { passive: true })
    return () => window.removeEventListener('scroll', look)
  }, [])
  return isAtTop
}
