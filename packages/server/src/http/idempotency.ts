/**
 * Requests with an Idempotency-Key: the first answer is stored in the transaction that does what was asked for, and given
 * again to every repeat of the request, for 24 hours. What was refused leaves nothing behind.
 */
import crypto from 'node:crypto'
import { CarillonError } from '@carillon/contract'
import type { ApiOperation } from '@carillon/contract/api'
import { AnsweredBefore, type Once, type RequestKey, readAnswer } from '../store/idempotency/answers.ts'
import type { Caller, Reply } from './route.ts'
import type { Services } from './services.ts'

interface Asked {
  headers: { 'idempotency-key'?: string }
  params?: unknown
  rawBody: string
  caller: Caller
}

/**
 * Answers a request, once if it has a key. `act` is given the key and must write it together with what it does (see
 * `rendering`); the store throws AnsweredBefore where it finds it taken.
 */
export async function answerOnce(
  { method, path }: ApiOperation,
  request: Asked,
  { database, activity, quotas }: Pick<Services, 'database' | 'activity' | 'quotas'>,
  act: (key: RequestKey | undefined) => Promise<Reply>,
): Promise<Reply> {
  const key = request.headers['idempotency-key']
  if (key === undefined) return act(undefined)
  // The same key for another job is another request, as is one with another body.
  const asked = `${JSON.stringify(request.params ?? {})}\n${request.rawBody}`
  const same = {
    tenant: request.caller.tenant,
    route: `${method} ${path}`,
    key,
    hash: crypto.hash('sha256', asked, 'hex'),
  }
  for (;;) {
    try {
      quotas.requireKey(same.tenant)
      const reply = await act(same)
      quotas.keyAdded(same.tenant)
      return reply
    } catch (error) {
      // Refused now, it may have gone through the first time: a time that has passed since, for example.
      const refused = error instanceof CarillonError && error.status < 500
      if (!refused && !(error instanceof AnsweredBefore)) throw error
      const before = await readAnswer(database, same)
      if (before) {
        activity.duplicates('IDEMPOTENCY_KEY', 1)
        return repeated(before, same)
      }
      if (refused) throw error // else the key has just become free
    }
  }
}

/** The text of an answer, made before the commit if it has to be stored, else when it is needed. */
export function rendering<Made>(
  key: RequestKey | undefined,
  render: (made: Made) => string,
): { once: Once<Made> | undefined; textOf: (made: Made) => string } {
  let text: string | undefined
  const answer = (made: Made) => {
    text = render(made)
    return text
  }
  return { once: key && { key, answer }, textOf: (made) => text ?? render(made) }
}

function repeated(before: { hash: string; answer: string }, same: RequestKey): Reply {
  if (before.hash === same.hash) return { status: 200, text: before.answer }
  throw new CarillonError('IDEMPOTENCY_KEY_REUSED', {
    message: 'the Idempotency-Key came with another request before',
    hint: 'Use a new key for a new request',
  })
}
