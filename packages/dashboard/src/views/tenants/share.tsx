import { percent } from '../../lib/time.ts'
import type { Shares } from './use-usage.ts'

/** What part of all executions was the tenant's: a bar, and the figure. */
export function Share({ of, name }: { of: Shares | undefined; name: string }) {
  if (of === undefined) return <span className="text-soft">…</span>
  const ended = of.byTenant.get(name)?.ended ?? 0
  const share = of.ended === 0 ? 0 : ended / of.ended
  return (
    <span className="inline-flex w-full max-w-44 items-baseline gap-2">
      <span className="h-1.5 min-w-10 flex-1 self-center overflow-hidden rounded-full bg-sunken" aria-hidden="true">
        <span className="block h-full rounded-full bg-accent" style={{ width: `${share * 100}%` }} />
      </span>
      <span className="w-16 shrink-0 text-right whitespace-nowrap max-sm:text-left">{percent(share)}</span>
    </span>
  )
}
