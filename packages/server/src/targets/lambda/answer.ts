/** What an answer of Lambda means: the function's own, or that AWS did not run it. */
import type { JsonText } from '@carillon/contract'
import { failureOf, type HttpResult, resultOf } from '../http/answer.ts'
import type { Answer } from '../http/exchange.ts'
import { TargetFailed } from '../target-failed.ts'

/** The function threw: its own name and message, so that a retry policy can name it. */
export class FunctionFailed extends Error {
  constructor(name: string, message: string) {
    super(message)
    this.name = name
    // The stack would be ours, not the function's.
    this.stack = undefined
  }
}

/** They are about the node's keys and clock, which an operator mends, and not about the job. */
const credentialErrors = new Set([
  'ExpiredTokenException',
  'InvalidSignatureException',
  'UnrecognizedClientException',
  'MissingAuthenticationTokenException',
])

const json = { 'content-type': 'application/json' }

/** The result of a success; throws what says that it was none. `now`: milliseconds since 1970. */
export function judgeInvocation(answer: Answer, now: number): HttpResult | JsonText {
  const { status, headers, text } = answer
  if (status < 200 || status >= 300) throw refusalOf(answer, now)
  // A function answers JSON, whatever the header says.
  if (headers['x-amz-function-error'] === undefined) return resultOf({ ...answer, headers: json })
  const { errorType, errorMessage } = parsed(text)
  throw new FunctionFailed(
    typeof errorType === 'string' && errorType !== '' ? errorType : 'FunctionFailed',
    typeof errorMessage === 'string' ? errorMessage : `the function failed: ${text.slice(0, 500)}`,
  )
}

function refusalOf(answer: Answer, now: number): Error {
  const [type = ''] = `${answer.headers['x-amzn-errortype'] ?? ''}`.split(':')
  const { message, Message } = parsed(answer.text)
  const said = [message, Message].find((each) => typeof each === 'string') ?? answer.text
  const failure = failureOf({ ...answer, text: [type, said].filter(Boolean).join(': ') }, now)
  return credentialErrors.has(type) ? new TargetFailed(failure.message) : failure
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
