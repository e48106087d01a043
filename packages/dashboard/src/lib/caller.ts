/** Who the caller is and what that caller may do. What is not allowed is not shown. */
import type { Scope } from '@carillon/contract'
import type { Me } from '@carillon/contract/api'
import { createContext, use } from 'react'

export const CallerContext = createContext<Me | null>(null)

export function useCaller(): Me {
  const me = use(CallerContext)
  if (me === null) throw new Error('nobody is signed in')
  return me
}

export function useMay(scope: Scope): boolean {
  return useCaller().scopes.includes(scope)
}
