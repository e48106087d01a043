import type { Token } from '@carillon/contract/api'
import { useState } from 'react'
import { Loading, Nothing, Trouble } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { Field, Select } from '../../components/field.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { type Column, More, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { useCaller } from '../../lib/caller.ts'
import { currentTime } from '../../lib/clock.ts'
import { useFilters } from '../../lib/filters.ts'
import { usePages } from '../../lib/pages.ts'
import { CreateToken } from './create-token.tsx'
import { Revoke } from './revoke.tsx'

const pageSize = 50

export default function Tokens() {
  const [filters, change] = useFilters()
  const [isCreating, create] = useState(false)
  const { tenant, authentication } = useCaller()
  const platform = filters.platform === 'true'
  const pages = usePages('listTokens', {
    question: { platform },
    queryOf: () => ({ limit: pageSize, ...(platform && { platform }) }),
  })
  const { items, error } = pages
  return (
    <>
      <Heading
        title="Tokens"
        about="API keys of workers, programs and people"
        actions={
          <Button kind="main" onClick={() => create(true)}>
            Create token
          </Button>
        }
      />
      {authentication === 'NONE' && (
        <p className="mb-4 rounded-md border border-line bg-sunken px-4 py-2">
          Authentication is off on this node: tokens take effect once it is started with authentication.
        </p>
      )}
      {tenant === null && (
        <div className="mb-4 max-w-52">
          <Field label="Tokens of">
            {(ids) => (
              <Select
                {...ids}
                value={filters.platform ?? ''}
                onChange={({ target }) => change({ platform: target.value || undefined })}
              >
                <option value="">This tenant</option>
                <option value="true">The platform</option>
              </Select>
            )}
          </Field>
        </div>
      )}
      <Panel>
        {items === undefined ? (
          error ? (
            <Trouble error={error} again={pages.again} />
          ) : (
            <Loading />
          )
        ) : items.length === 0 ? (
          <Nothing title="No tokens yet">
            Create one for each worker, program and person, so that each can be revoked alone.
          </Nothing>
        ) : (
          <Table rows={items} columns={columns} keyOf={({ keyId }) => keyId} caption="Tokens, newest first" flows />
        )}
        <More hasMore={pages.hasMore} busy={pages.busy} onMore={pages.more} />
      </Panel>
      {isCreating && <CreateToken onClose={() => create(false)} />}
    </>
  )
}

const columns: readonly Column<Token>[] = [
  {
    name: 'Name',
    isWhole: true,
    cell: ({ name, keyId }) => (
      <>
        <span className="font-medium break-words">{name}</span>{' '}
        <code className="font-mono text-[13px] text-soft">{keyId}</code>
      </>
    ),
  },
  { name: 'Allows', cell: ({ scopes }) => <Scopes scopes={scopes} /> },
  { name: 'Created', isWide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: 'State', cell: (token) => <State token={token} /> },
  { name: 'Action', isNumber: true, cell: (token) => (token.revokedAt === null ? <Revoke token={token} /> : null) },
]

function Scopes({ scopes }: { scopes: readonly string[] }) {
  return (
    <span className="inline-flex flex-wrap gap-1">
      {scopes.map((scope) => (
        <code key={scope} className="rounded bg-sunken px-1.5 font-mono text-[13px]">
          {scope}
        </code>
      ))}
    </span>
  )
}

function State({ token: { revokedAt, expiresAt } }: { token: Token }) {
  if (revokedAt !== null) {
    return (
      <span className="text-soft">
        ✕ Revoked <Time at={revokedAt} />
      </span>
    )
  }
  if (expiresAt === null) return <span className="text-good">● Valid</span>
  const isOver = new Date(expiresAt) < currentTime()
  return (
    <span className={isOver ? 'text-soft' : 'text-good'}>
      {isOver ? '✕ Expired ' : '● Valid, expires '}
      <Time at={expiresAt} />
    </span>
  )
}
