/** The filters of a view live in its address, so that a link, a reload and the back button keep them. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

/** Only texts that are not empty. */
export type Filters = Record<string, string | undefined>

export function useFilters(): [Filters, (change: Filters) => void] {
  const filters = useSearch({ strict: false }) as Filters
  const navigate = useNavigate()
  const change = useCallback(
    (changes: Filters) => {
      void navigate({ to: '.', search: (before: Filters) => ({ ...before, ...changes }), replace: true })
    },
    [navigate],
  )
  return [filters, change]
}
