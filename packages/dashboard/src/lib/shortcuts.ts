/** Keys of the whole page: `/` search, `g` and a letter to a view, `?` help, Ctrl-K or ⌘K the palette. Not while typing. */
import { useNavigate } from '@tanstack/react-router'
import { useLayoutEffect } from 'react'
import { useCaller } from './caller.ts'
import { placesOf } from './places.ts'

const sequenceMs = 1_200

export interface ShortcutActions {
  openPalette: () => void
  openHelp: () => void
}

export function useShortcuts({ openPalette, openHelp }: ShortcutActions): void {
  const navigate = useNavigate()
  const me = useCaller()
  // Before the first paint: keys work as soon as there is something to see.
  useLayoutEffect(() => {
    let sinceG = Number.NEGATIVE_INFINITY
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        openPalette()
        return
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
      if (event.timeStamp - sinceG < sequenceMs) {
        sinceG = Number.NEGATIVE_INFINITY
        const place = placesOf(me).find(({ letter }) => letter === event.key)
        if (place) void navigate({ to: place.path })
      } else if (event.key === 'g') {
        sinceG = event.timeStamp
      } else if (event.key === '/') {
        event.preventDefault()
        const search = document.querySelector<HTMLInputElement>('[data-search]')
        if (search) search.focus()
        else openPalette()
      } else if (event.key === '?') {
        openHelp()
      }
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [me, navigate, openPalette, openHelp])
}

function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]')) return true
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}
