/** What a view shows while it waits, when there is nothing, and when the node refused or does not answer. */
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Refusal, Unreachable } from '../lib/api.ts'
import { Button } from './button.tsx'

/** Shows the answer; until it is there, what there is to say instead. */
export function Answer<T>({ of, children }: { of: UseQueryResult<T>; children: (answer: T) => ReactNode }) {
  if (of.data !== undefined) return children(of.data)
  if (of.error !== null) return <Trouble error={of.error} again={() => void of.refetch()} />
  return <Loading />
}

export function Loading() {
  return (
    <div className="space-y-2 p-4" role="status" aria-label="Loading">
      <div className="h-4 w-1/3 animate-pulse rounded bg-sunken" />
      <div className="h-4 w-2/3 animate-pulse rounded bg-sunken" />
      <div className="h-4 w-1/2 animate-pulse rounded bg-sunken" />
    </div>
  )
}

/** Above what is shown from before, while its successor is awaited. */
export function Renewing({ isOld }: { isOld: boolean }) {
  return <div className={`h-0.5 ${isOld ? 'animate-pulse bg-accent' : ''}`} />
}

export function Nothing({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="px-4 py-10 text-center">
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="mx-auto mt-1 max-w-prose text-balance text-soft">{children}</div>}
    </div>
  )
}

export function Trouble({ error, again }: { error: Error; again?: () => void }) {
  const details = detailsOf(error)
  return (
    <div className="m-4 rounded-md border border-bad bg-bad-soft px-4 py-3" role="alert">
      <p className="font-medium text-bad">{titleOf(error)}</p>
      <p className="mt-0.5">{error.message}</p>
      {details.length > 0 && (
        <ul className="mt-1 list-disc pl-5">
          {details.map(({ pointer, message, hint }) => (
            <li key={`${pointer}${message}`}>
              {pointer && <code className="font-mono">{pointer}</code>} {message}
              {hint && <span className="text-soft"> {hint}</span>}
            </li>
          ))}
        </ul>
      )}
      {again && (
        <Button className="mt-2" onClick={again}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** Those that the message does not say already: of one without a place, it is the same. */
function detailsOf(error: Error): NonNullable<Refusal['problem']['errors']> {
  const details = error instanceof Refusal ? (error.problem.errors ?? []) : []
  return details.length === 1 && details[0]!.pointer === undefined && error.message.includes(details[0]!.message)
    ? []
    : details
}

function titleOf(error: Error): string {
  if (error instanceof Unreachable) return 'The node does not answer'
  if (error instanceof Refusal && error.status === 403) return 'Your token does not allow this'
  if (error instanceof Refusal && error.status === 404) return 'It is not there'
  if (error instanceof Refusal && error.status < 500) return 'The node refused this'
  return 'Something went wrong'
}
