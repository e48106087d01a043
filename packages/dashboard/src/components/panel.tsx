import type { ReactNode } from 'react'

/** The head of a view. `actions` stand at its right, below it on a phone. */
export function Heading({ title, about, actions }: { title: ReactNode; about?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="mb-4 flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
      <div className="min-w-0">
        <h1 className="text-xl font-semibold break-words">{title}</h1>
        {about !== undefined && <p className="mt-0.5 text-soft">{about}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
    </header>
  )
}

export function Panel({
  title,
  side,
  children,
  className = '',
}: {
  title?: ReactNode
  side?: ReactNode
  children: ReactNode
  className?: string
}) {
  return (
    <section className={`min-w-0 rounded-lg border border-line bg-panel ${className}`}>
      {title !== undefined && (
        <div className="flex flex-wrap items-baseline justify-between gap-x-3 border-b border-line px-4 py-2.5">
          <h2 className="font-semibold">{title}</h2>
          {side !== undefined && <div className="text-soft">{side}</div>}
        </div>
      )}
      {children}
    </section>
  )
}

/** One figure with its name. `tone` says that it needs attention. */
export function Figure({
  name,
  value,
  about,
  tone = 'ink',
}: {
  name: string
  value: ReactNode
  about?: ReactNode
  tone?: 'ink' | 'bad' | 'warn' | 'good'
}) {
  const colour = { ink: 'text-ink', bad: 'text-bad', warn: 'text-warn', good: 'text-good' }[tone]
  return (
    <div className="min-w-0 px-4 py-3">
      <div className="text-soft">{name}</div>
      <div className={`text-2xl font-semibold ${colour}`}>{value}</div>
      {about !== undefined && <div className="text-soft">{about}</div>}
    </div>
  )
}

/** Names and values, one pair a line. */
export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl className="grid items-baseline grid-cols-[minmax(7rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1.5 px-4 py-3">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-soft">{name}</dt>
          <dd className="m-0 min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
