/** The tenants that are declared: their shares, and what they have now. For the operator. */
import type { Tenant } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Loading, Nothing, Trouble } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { type Column, More, Table } from '../../components/table.tsx'
import { usePages } from '../../lib/pages.ts'
import { duration, shortCount } from '../../lib/time.ts'
import { Declare } from './declare.tsx'
import { PlatformOnly } from './platform-only.tsx'
import { Share } from './share.tsx'
import { type Shares, useShares, useUnfinished } from './use-usage.ts'

const pageSize = 20

export default function Tenants() {
  return (
    <PlatformOnly>
      <Known />
    </PlatformOnly>
  )
}

function Known() {
  const [declared, declare] = useState<string | null>(null)
  const pages = usePages('listTenants', { question: {}, queryOf: () => ({ limit: pageSize }), everyMs: 30_000 })
  const shares = useShares()
  const { items, error } = pages
  return (
    <>
      <Heading
        title="Tenants"
        about="Shares and run time are of what ended since yesterday, 00:00 UTC"
        actions={
          <Button kind="main" onClick={() => declare('')}>
            Declare tenant
          </Button>
        }
      />
      <div className="space-y-4">
        <Panel title="Declared">
          {items === undefined ? (
            error ? (
              <Trouble error={error} again={pages.again} />
            ) : (
              <Loading />
            )
          ) : items.length === 0 ? (
            <Nothing title="No tenant is declared">
              A tenant works without: it has weight 1. Declare one to give it another share, or a default jitter.
            </Nothing>
          ) : (
            <Table
              caption="Tenants that are declared, by name"
              rows={items}
              columns={columnsOf(shares)}
              keyOf={({ name }) => name}
            />
          )}
          <More hasMore={pages.hasMore} busy={pages.busy} onMore={pages.more} />
        </Panel>
        {items !== undefined && !pages.hasMore && shares !== undefined && !shares.isPart && (
          <Others declared={items} shares={shares} onDeclare={declare} />
        )}
      </div>
      {declared !== null && <Declare name={declared} tenant={null} onClose={() => declare(null)} />}
    </>
  )
}

function columnsOf(shares: Shares | undefined): Column<Tenant>[] {
  return [
    {
      name: 'Tenant',
      cell: ({ name, description }) => (
        <>
          <TenantLink name={name} />
          {description !== null && <span className="block text-soft break-words">{description}</span>}
        </>
      ),
    },
    { name: 'Weight', isNumber: true, cell: ({ weight }) => weight },
    { name: 'Share', isNumber: true, cell: ({ name }) => <Share of={shares} name={name} /> },
    { name: 'Running', isNumber: true, cell: ({ name }) => <Unfinished name={name} state="RUNNING" /> },
    { name: 'Pending', isNumber: true, cell: ({ name }) => <Unfinished name={name} state="PENDING" /> },
    {
      name: 'Run time',
      isNumber: true,
      isWide: true,
      cell: ({ name }) => (shares ? duration(shares.byTenant.get(name)?.runMs ?? 0) : '…'),
    },
    {
      name: 'Jitter',
      isNumber: true,
      isWide: true,
      cell: ({ jitterSec }) =>
        jitterSec === null ? <span className="text-soft">none</span> : duration(jitterSec * 1_000),
    },
  ]
}

export function TenantLink({ name }: { name: string }) {
  return (
    <Link to="/tenants/$tenant" params={{ tenant: name }} className="font-medium break-all text-accent hover:underline">
      {name}
    </Link>
  )
}

function Unfinished({ name, state }: { name: string; state: 'RUNNING' | 'PENDING' }) {
  return useUnfinished(name, state) ?? <span className="text-soft">…</span>
}

/** Any name is a tenant: these used something and are not declared. */
function Others({
  declared,
  shares,
  onDeclare,
}: {
  declared: readonly Tenant[]
  shares: Shares
  onDeclare: (name: string) => void
}) {
  const known = new Set(declared.map(({ name }) => name))
  const others = [...shares.byTenant].filter(([name]) => !known.has(name))
  if (others.length === 0) return null
  const columns: Column<(typeof others)[number]>[] = [
    { name: 'Tenant', cell: ([name]) => <TenantLink name={name} /> },
    { name: 'Share', isNumber: true, cell: ([name]) => <Share of={shares} name={name} /> },
    { name: 'Ended', isNumber: true, cell: ([, { ended }]) => shortCount(ended) },
    { name: 'Run time', isNumber: true, cell: ([, { runMs }]) => duration(runMs) },
    {
      name: 'Action',
      isNumber: true,
      cell: ([name]) => (
        <Button onClick={() => onDeclare(name)}>
          Declare<span className="sr-only"> {name}</span>
        </Button>
      ),
    },
  ]
  return (
    <Panel title="Not declared" side="at work since yesterday, with weight 1">
      <Table caption="Tenants at work that are not declared" rows={others} columns={columns} keyOf={([name]) => name} />
    </Panel>
  )
}
