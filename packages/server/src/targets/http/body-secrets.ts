/**
 * Secrets in the body of a request. The target says in which members they go; they are put there in a copy, when the request is sent. What
 * must stay true: a payload is never searched for references, so data that looks like one stays as it is.
 */
import type { ErrorDetail } from '@carillon/contract'
import { pointerPart } from '@carillon/contract'
import { PermanentError } from '@carillon/sdk'
import { isExactNumber } from '../../lib/exact-json.ts'

/** One place may not lie within another: the secret there would have members. */
export function bodySecretProblems(bodySecrets: Readonly<Record<string, unknown>>): ErrorDetail[] {
  const places = Object.keys(bodySecrets)
  return places.flatMap((place): ErrorDetail[] => {
    const outer = places.find((other) => place.startsWith(`${other}/`))
    if (outer === undefined) return []
    const pointer = `/target/http/bodySecrets/${pointerPart(place)}`
    return [{ pointer, message: `${place} lies within ${outer}, which is a secret`, hint: 'Leave one of them out' }]
  })
}

/** The body with a value in each place, such as `/auth/token`. Throws PermanentError if there can be no such member. */
export function withSecrets(body: unknown, values: Readonly<Record<string, string>>): unknown {
  return Object.entries(values).reduce((whole, [place, value]) => {
    return withMember(whole, place.slice(1).split('/'), { place, value })
  }, body)
}

function withMember(whole: unknown, path: readonly string[], secret: { place: string; value: string }): unknown {
  const [name, ...rest] = path
  if (name === undefined) return secret.value
  if (whole !== null && whole !== undefined && !hasMembers(whole)) {
    throw new PermanentError(
      `the body has no member ${secret.place} to put a secret in: what should hold it is no object`,
    )
  }
  const members = (whole ?? {}) as Record<string, unknown>
  const inner = Object.hasOwn(members, name) ? members[name] : null
  return { ...members, [name]: withMember(inner, rest, secret) }
}

function hasMembers(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value) && !isExactNumber(value)
}
