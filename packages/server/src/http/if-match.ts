/** Versions as ETags. A version is a number; it is accepted with and without quotes and `W/`. */
import { CarillonError } from '@carillon/contract'

export function etagOf(version: number): { etag: string } {
  return { etag: `"${version}"` }
}

/** The version that a change is meant for; undefined: whichever there is. */
export function versionOf(headers: { 'if-match'?: string } | undefined): number | undefined {
  const text = headers?.['if-match']?.trim()
  if (text === undefined || text === '*') return undefined
  const version = /^(?:(?:W\/)?"(\d{1,9})"|(\d{1,9}))$/.exec(text)
  if (version) return Number(version[1] ?? version[2])
  throw new CarillonError('VALIDATION', {
    pointer: '/if-match',
    message: 'is not the ETag of a version',
    hint: 'Send the ETag as it came with the answer, such as "3"',
  })
}
