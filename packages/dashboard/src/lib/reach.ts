/** Whether the node answers. While it does not, the page says so and asks every two seconds until it does. */
import { useSyncExternalStore } from 'react'

const askEveryMs = 2_000
const listeners = new Set<() => void>()
let isReachable = true
let asking: ReturnType<typeof setTimeout> | undefined

export function unreachable(): void {
  if (!isReachable) return
  isReachable = false
  tell()
  ask()
}

export function reached(): void {
  if (isReachable) return
  clearTimeout(asking)
  isReachable = true
  tell()
}

export function useReachable(): boolean {
  return useSyncExternalStore(onReach, () => isReachable)
}

export function onReach(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function nowReachable(): boolean {
  return isReachable
}

function ask(): void {
  asking = setTimeout(() => {
    fetch('/healthz').then(reached, ask)
  }, askEveryMs)
}

function tell(): void {
  for (const listener of listeners) listener()
}
