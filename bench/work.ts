/** The work everybody runs, Carillon and peers: small, of many tenants, of several kinds. Handlers do nothing. */

export const handlerNames = ['send-email', 'resize-image', 'sync-account', 'charge-card', 'index-document']
export const tenantCount = 100

export interface WorkPayload {
  to: string
  template: string
}

/** The n-th payload. */
export function payloadOf(n: number): WorkPayload {
  return { to: `user-${n % 100_000}@example.com`, template: 'welcome' }
}

/** The n-th handler's name: neighbours differ. */
export function handlerOf(n: number): string {
  return handlerNames[n % handlerNames.length]!
}
