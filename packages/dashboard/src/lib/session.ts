/**
 * Who is signed in at this browser. The token lives in the storage of the tab, or of the browser if its owner asked for
 * that; never in an address. A listener is told of every change.
 */
import { useSyncExternalStore } from 'react'

export interface Session {
  /** Null: none was given; a node that asks for none answers all the same. */
  token: string | null
  /** The tenant that a platform token acts for; null: the default one. */
  tenant: string | null
}

const tokenAt = 'carillon.token'
const tenantAt = 'carillon.tenant'
const listeners = new Set<() => void>()
let current = stored()

export function session(): Session {
  return current
}

export function signIn(token: string, options: { keep: boolean }): void {
  forget()
  ;(options.keep ? localStorage : sessionStorage).setItem(tokenAt, token)
  change()
}

export function signOut(): void {
  forget()
  change()
}

export function actFor(tenant: string | null): void {
  if (tenant === null || tenant === '') sessionStorage.removeItem(tenantAt)
  else sessionStorage.setItem(tenantAt, tenant)
  change()
}

export function useSession(): Session {
  return useSyncExternalStore(onSession, session)
}

export function onSession(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function stored(): Session {
  return {
    token: sessionStorage.getItem(tokenAt) ?? localStorage.getItem(tokenAt),
    tenant: sessionStorage.getItem(tenantAt),
  }
}

function forget(): void {
  sessionStorage.removeItem(tokenAt)
  sessionStorage.removeItem(tenantAt)
  localStorage.removeItem(tokenAt)
}

function change(): void {
  current = stored()
  for (const listener of listeners) listener()
}
