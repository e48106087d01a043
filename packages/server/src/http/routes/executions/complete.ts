/** An external system reports the outcome of a deferred execution, with the token that the request to the target carried. */
import { setTimeout as pause } from 'node:timers/promises'
import { CarillonError, type ErrorDetail } from '@carillon/contract'
import { api, type CompletionInput } from '@carillon/contract/api'
import { encodeJson, reportedError } from '@carillon/sdk'
import type { Ending } from '../../../completion/decide.ts'
import { noteRefusals } from '../../../store/audit/refusals.ts'
import { ok, route } from '../../route.ts'
import type { Services } from '../../services.ts'

const busyPauseMs = 50
const maxTries = 20

export const completeExecution = route(api.completeExecution, async ({ params, headers, body }, services) => {
  const executionId = params.executionId.toLowerCase()
  const token = headers['carillon-token']
  const fence = token === undefined ? null : await services.tokens.fenceOf(executionId, token)
  if (fence === null) {
    if (token !== undefined) {
      const refusal = { tenant: null, actor: 'target', subject: executionId, detail: {} }
      await noteRefusals(services.database, 'execution.token_refused', [refusal])
    }
    throw new CarillonError('TOKEN_INVALID', {
      message: `${token === undefined ? 'there is no Carillon-Token' : 'the Carillon-Token was not made'} for this execution`,
      hint: 'Send back the token that came with the request to the target',
    })
  }
  // The same name is in defer.sql.
  const told = {
    executionId,
    fence,
    actor: 'target',
    from: 'WORKER',
    said: said(body, { executionId, fence }, services),
  }
  await report(told as Ending, services)
  return ok({ executionId, verdict: 'ACCEPTED' })
})

async function report(ending: Ending, { completion }: Services): Promise<void> {
  for (let tries = 0; tries < maxTries; tries++) {
    const verdict = await completion.end(ending)
    if (verdict === 'ACCEPTED') return
    if (verdict === 'REFUSED') {
      throw new CarillonError('FENCE_STALE', {
        message: 'the token’s lease is over: the execution has ended otherwise, or another attempt runs',
        hint: 'Drop it; raise timeoutSec if the target needs longer',
      })
    }
    await pause(busyPauseMs)
  }
  throw new CarillonError('UNAVAILABLE', { message: 'the execution is being changed by others', hint: 'Try again' })
}

type Said = Extract<Ending, { from: 'WORKER' }>['said']

function said(body: CompletionInput, lease: { executionId: string; fence: number }, { clock }: Services): Said {
  const { outcome, result, error, retryAfterMs, permanent } = body
  const base = { ...lease, startedAt: null, finishedAt: clock.now() }
  if (outcome === 'SUCCEEDED') {
    refuse({ error, retryAfterMs, permanent }, 'FAILED')
    return { ...base, outcome, result: result === undefined ? null : encodeJson(result, 'result') }
  }
  refuse({ result }, 'SUCCEEDED')
  const cause = error ?? { name: 'TargetFailed', message: 'the target reported a failure without saying why' }
  const directives = { ...(retryAfterMs !== undefined && { retryAfterMs }), ...(permanent && { permanent }) }
  return { ...base, outcome: 'FAILED', error: reportedError(cause), ...directives }
}

function refuse(fields: Record<string, unknown>, belongsTo: string): void {
  const problems = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([field]): ErrorDetail => ({
        pointer: `/${field}`,
        message: `${field} goes with ${belongsTo}`,
        hint: 'Leave it out',
      }),
    )
  if (problems.length > 0) throw new CarillonError('VALIDATION', problems)
}
