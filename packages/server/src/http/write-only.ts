/**
 * What callers see who may change jobs but not read them. Many answers show what was changed as it is now; what users put
 * into it (payload, progress, result) is for readers only, wherever it stands in an answer and whichever route gives it.
 */
import type { ApiOperation } from '@carillon/contract/api'
import type { Caller, Reply } from './route.ts'

export function mayRead({ scope }: ApiOperation, { scopes }: Caller): boolean {
  return scope !== 'jobs:write' || scopes.has('jobs:read')
}

const data = ['payload', 'progress', 'result'] as const

/** The same answer with null in their places. */
export function withoutData(reply: Reply<unknown>): Reply<unknown> {
  const text = reply.text ?? (reply.body === undefined ? undefined : JSON.stringify(reply.body))
  if (text === undefined) return reply
  const shown: unknown = JSON.parse(text)
  if (typeof shown !== 'object' || shown === null || Array.isArray(shown)) return reply
  const hidden = Object.fromEntries(data.filter((name) => name in shown).map((name) => [name, null]))
  return { ...reply, text: undefined, body: { ...shown, ...hidden } }
}
