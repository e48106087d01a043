/** One tenant: what is declared about it, what it has now, and what it used by day. */
import type { QuotaName, Tenant as TenantShape } from '@carillon/contract'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { Answer } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { Facts, Figure, Heading, Panel } from '../../components/panel.tsx'
import { Time } from '../../components/time.tsx'
import { Refusal } from '../../lib/api.ts'
import { useAsk } from '../../lib/queries.ts'
import { actFor } from '../../lib/session.ts'
import { count, duration, percent } from '../../lib/time.ts'
import { Declare } from './declare.tsx'
import { PlatformOnly } from './platform-only.tsx'
import { UsageDays } from './usage-days.tsx'
import { useShares, useUnfinished } from './use-usage.ts'
import { Withdraw } from './withdraw.tsx'

export default function Tenant() {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  return (
    <PlatformOnly>
      <p>
        <Link to="/tenants" className="text-accent hover:underline">
          All tenants
        </Link>
      </p>
      <Known key={tenant} name={tenant} />
    </PlatformOnly>
  )
}

function Known({ name }: { name: string }) {
  const [shown, show] = useState<'declare' | 'delete' | null>(null)
  const navigate = useNavigate()
  const asked = useAsk('getTenant', { params: { tenant: name } })
  const isUndeclared = asked.error instanceof Refusal && asked.error.code === 'TENANT_NOT_FOUND'
  const tenant = isUndeclared ? undefined : asked.data
  const isKnown = isUndeclared || tenant !== undefined
  return (
    <>
      <Heading
        title={name}
        about={isUndeclared ? 'Not declared: it works with weight 1.' : (tenant?.description ?? undefined)}
        actions={
          <>
            <Button
              onClick={() => {
                actFor(name)
                void navigate({ to: '/' })
              }}
            >
              Act for it
            </Button>
            {isKnown && (
              <Button kind={isUndeclared ? 'main' : 'plain'} onClick={() => show('declare')}>
                {isUndeclared ? 'Declare' : 'Edit'}
              </Button>
            )}
            {tenant && (
              <Button kind="danger" onClick={() => show('delete')}>
                Delete…
              </Button>
            )}
          </>
        }
      />
      <div className="space-y-4">
        <Now name={name} />
        <div className="grid items-start gap-4 xl:grid-cols-3">
          <div className="min-w-0 xl:col-span-2">
            <UsageDays name={name} />
          </div>
          <Panel title="Declaration">
            {isUndeclared ? (
              <p className="px-4 py-3 text-soft">Nothing is declared about this tenant.</p>
            ) : (
              <Answer of={asked}>{(known) => <Facts facts={factsOf(known)} />}</Answer>
            )}
          </Panel>
        </div>
      </div>
      {shown === 'declare' && isKnown && <Declare name={name} tenant={tenant ?? null} onClose={() => show(null)} />}
      {shown === 'delete' && tenant && <Withdraw tenant={tenant} onClose={() => show(null)} />}
    </>
  )
}

function Now({ name }: { name: string }) {
  const shares = useShares()
  const [running, pending, retrying] = [
    useUnfinished(name, 'RUNNING'),
    useUnfinished(name, 'PENDING'),
    useUnfinished(name, 'FAILED'),
  ]
  const ended = shares?.byTenant.get(name)?.ended ?? 0
  return (
    <Panel>
      <div className="grid grid-cols-2 lg:grid-cols-4">
        <Figure
          name="Share"
          value={shares === undefined ? '…' : percent(shares.ended === 0 ? 0 : ended / shares.ended)}
          about={shares && `${count(ended)} of ${count(shares.ended)} since yesterday`}
        />
        <Figure name="Running" value={running ?? '…'} about="on workers now" />
        <Figure name="Pending" value={pending ?? '…'} about="ready, or held back" />
        <Figure name="To be retried" value={retrying ?? '…'} about="after a failed attempt" />
      </div>
    </Panel>
  )
}

const quotas: Record<QuotaName, string> = {
  maxJobs: 'Jobs at rest',
  submissionsPerSec: 'Submitted a second',
  maxPools: 'Pools',
  maxWorkers: 'Workers',
  maxIdempotencyKeys: 'Idempotency-Keys',
  maxEventStreams: 'Open streams',
}

function factsOf(tenant: TenantShape): [string, ReactNode][] {
  return [
    ['Weight', count(tenant.weight)],
    ['Default jitter', tenant.jitterSec === null ? 'None' : `up to ${duration(tenant.jitterSec * 1_000)}`],
    ...Object.entries(quotas).flatMap(([quota, words]): [string, ReactNode][] => {
      const most = tenant[quota as QuotaName]
      return most === null ? [] : [[words, `at most ${count(most)}`]]
    }),
    ['Version', count(tenant.version)],
    ['Declared', <Time key="declared" at={tenant.createdAt} />],
    ['Changed', <Time key="changed" at={tenant.updatedAt} />],
  ]
}
