import type { ReactNode } from 'react'
import { Nothing } from '../../components/answer.tsx'
import { useCaller } from '../../lib/caller.ts'

/** Someone followed a link to what is the operator's. */
export function PlatformOnly({ children }: { children: ReactNode }) {
  const { tenant, scopes } = useCaller()
  if (tenant === null && scopes.includes('admin')) return children
  return (
    <>
      <h1 className="sr-only">Not allowed</h1>
      <Nothing title="Your token does not allow this">
        Tenants are the operator’s: it needs a platform token with the scope <code className="font-mono">admin</code>.
      </Nothing>
    </>
  )
}
