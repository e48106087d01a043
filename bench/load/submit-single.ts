/** Submissions that are due now, one a request, of many tenants. Every one must be answered 201. */
import type { Load } from '../ground/ground.ts'
import { handlerOf, payloadOf } from '../work.ts'
import { closedLoop, type LoopAnswer, type LoopOptions } from './closed-loop.ts'
import type { RawAnswer } from './raw-connection.ts'
import { requestText } from './requests.ts'

export interface SubmitSingleOptions extends LoopOptions {
  tokens: string[]
  /** As the SDK's client does it: an Idempotency-Key with every request. */
  withKeys: boolean
}

/** As many different requests as are prepared. */
const prepared = 10_000

const submitSingle: Load<SubmitSingleOptions, LoopAnswer> = (options, control) => {
  const { url, tokens, withKeys } = options
  const texts = Array.from({ length: prepared }, (_, n) =>
    requestText({
      ...{ method: 'POST', path: '/v1/jobs', host: new URL(url).host, token: tokens[n % tokens.length]! },
      body: { type: 'ONE_SHOT', target: { handler: handlerOf(Math.floor(n / tokens.length)) }, payload: payloadOf(n) },
    }),
  )
  let sent = 0
  const requests = {
    next: () => {
      const n = sent++
      const request = texts[(n * 7_919) % prepared]!
      return { request: withKeys ? withKey(request, `${process.pid}-${n}`) : request, subject: '' }
    },
    check: ({ status, bytes, bodyStart, bodyEnd }: RawAnswer) => {
      if (status !== 201) throw new Error(`answered ${status}: ${bytes.toString('latin1', bodyStart, bodyEnd)}`)
    },
  }
  return closedLoop(options, requests, control)
}

export default submitSingle

function withKey(request: string, key: string): string {
  const at = request.indexOf('\r\n') + 2
  return `${request.slice(0, at)}idempotency-key: ${key}\r\n${request.slice(at)}`
}
