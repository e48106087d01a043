import type { Scope } from '@carillon/contract'
import type { ReactNode } from 'react'
import { Nothing } from '../../components/answer.tsx'
import { useMay } from '../../lib/caller.ts'

/** Someone followed a link to what their token does not allow. */
export function NotAllowed({ without, children }: { without: Scope; children: ReactNode }) {
  if (useMay(without)) return children
  return (
    <>
      <h1 className="sr-only">Not allowed</h1>
      <Nothing title="Your token does not allow this">
        It needs the scope <code className="font-mono">{without}</code>.
      </Nothing>
    </>
  )
}
