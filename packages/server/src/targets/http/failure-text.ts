import { AddressRefused } from './checked-agent.ts'

/** Where a request went. With `ref` its URL is a secret, and only the reference may be shown. */
export interface Destination {
  origin: string
  ref?: string | null
}

/** The cause of a request that got no answer, without whatever else the error holds. */
export function failureText(error: unknown, { origin, ref = null }: Destination): string {
  if (error instanceof AddressRefused) {
    if (ref === null) return error.message
    return `${ref} leads to an address that is ${error.what}: the operator does not allow it`
  }
  const { code, errors } = error as { code?: string; errors?: { code?: string }[] }
  const codes = [code, ...(errors ?? []).map((each) => each.code)].filter((each) => typeof each === 'string')
  const known = codes.length > 0 ? [...new Set(codes)].join(', ') : 'unknown'
  return `no answer from ${ref ?? origin} (${known})`
}
