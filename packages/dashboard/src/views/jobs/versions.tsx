/** What the job was: every version that is kept, and what each changed. */
import type { JobVersion } from '@carillon/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Loading, Trouble } from '../../components/answer.tsx'
import { Panel } from '../../components/panel.tsx'
import { More } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { call } from '../../lib/api.ts'
import { Diff } from './diff.tsx'

const pageSize = 20

export function Versions({ jobId }: { jobId: string }) {
  const asked = useInfiniteQuery({
    queryKey: ['listJobVersions', 'pages', jobId],
    queryFn: ({ pageParam, signal }) => {
      const query = { limit: pageSize, ...(pageParam !== null && { cursor: pageParam }) }
      return call('listJobVersions', { params: { jobId }, query, signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })
  const versions = asked.data?.pages.flatMap(({ items }) => items)
  return (
    <Panel title="Versions" side="Newest first">
      {versions === undefined ? (
        asked.error ? (
          <Trouble error={asked.error} again={() => void asked.refetch()} />
        ) : (
          <Loading />
        )
      ) : (
        <ol>
          {versions.map((version, at) => (
            <li key={version.version} className="border-b border-line px-4 py-3 last:border-b-0">
              <Version of={version} before={versions[at + 1]} hasOlder={asked.hasNextPage} />
            </li>
          ))}
        </ol>
      )}
      <More hasMore={asked.hasNextPage} busy={asked.isFetchingNextPage} onMore={() => void asked.fetchNextPage()} />
    </Panel>
  )
}

function Version({
  of: { version, since, until, changedBy, definition },
  before,
  hasOlder,
}: {
  of: JobVersion
  before: JobVersion | undefined
  hasOlder: boolean
}) {
  const head = (
    <>
      <span className="font-medium">Version {version}</span>{' '}
      <span className="text-soft">
        {since === null ? 'since an unknown time' : <Time at={since} />}
        {changedBy !== null && (
          <>
            {' by '}
            <span className="font-mono text-[13px] break-all">{changedBy}</span>
          </>
        )}
        {until === null && ', current'}
      </span>
    </>
  )
  if (before === undefined) {
    const why =
      version === 1 ? 'Created.' : hasOlder ? 'Load more to compare it.' : 'The version before it is no longer kept.'
    return (
      <p>
        {head} <span className="block text-soft">{why}</span>
      </p>
    )
  }
  return (
    <details open={until === null}>
      <summary>{head}</summary>
      <div className="mt-2">
        <Diff before={before.definition} after={definition} />
      </div>
    </details>
  )
}
