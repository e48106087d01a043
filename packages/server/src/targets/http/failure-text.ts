import { AddressRefused } from './checked-agent.ts'

/** The cause of a request that got no answer, without whatever else the error holds. */
export function failureText(error: unknown, url: URL): string {
  if (error instanceof AddressRefused) return error.message
  const { code, errors } = error as { code?: string; errors?: { code?: string }[] }
  const codes = [code, ...(errors ?? []).map((each) => each.code)].filter((each) => typeof each === 'string')
  const known = codes.length > 0 ? [...new Set(codes)].join(', ') : 'unknown'
  return `no answer from ${url.origin} (${known})`
}
