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
  if (!isObject(shown)) return reply
  // The steps of a graph have payloads of their own.
  const steps = 'steps' in shown && Array.isArray(shown.steps) ? { steps: shown.steps.map(hidden) } : {}
  return { ...reply, text: undefined, body: { ...hidden(shown), ...steps } }
}

function hidden(shown: unknown): object {
  if (!isObject(shown)) return {}
  return { ...shown, ...Object.fromEntries(data.filter((name) => name in shown).map((name) => [name, null])) }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
