/** Whether there is room for more than a column: what a phone does not show, it need not load either. */
import { useSyncExternalStore } from 'react'

// As the styles have it: what is below `sm` is a phone.
const room = window.matchMedia('(min-width: 40rem)')

export function useWide(): boolean {
  return useSyncExternalStore(subscribe, () => room.matches)
}

function subscribe(listener: () => void): () => void {
  room.addEventListener('change', listener)
  return () => room.removeEventListener('change', listener)
}
