/** Submissions one at a time with random pauses between, as from a service that has little to do. */
import { setTimeout as after } from 'node:timers/promises'
import type { Load } from '../ground/ground.ts'
import { monotonicMs } from '../measure/clock.ts'
import { handlerOf, payloadOf } from '../work.ts'
import { type RawAnswer, RawConnection } from './raw-connection.ts'
import { anyOf, requestText } from './requests.ts'

export interface PickupOptions {
  url: string
  tokens: string[]
  submissions: number
  leastPauseMs: number
  mostPauseMs: number
}

export interface Submitted {
  executionId: string
  /** Just before the request was written, by `monotonicMs`. */
  sentAt: number
  /** When it had been answered. */
  answeredAt: number
}

const pickup: Load<PickupOptions, Submitted[]> = async (options, { signal, say }) => {
  const { url, tokens, submissions, leastPauseMs, mostPauseMs } = options
  const { promise: lost, reject } = Promise.withResolvers<never>()
  const connection = await RawConnection.open(url, reject)
  const submitted: Submitted[] = []
  try {
    for (let n = 0; n < submissions; n++) {
      const request = requestText({
        ...{ method: 'POST', path: '/v1/jobs', host: new URL(url).host, token: anyOf(tokens) },
        body: { type: 'ONE_SHOT', target: { handler: handlerOf(n) }, payload: payloadOf(n) },
      })
      submitted.push(await Promise.race([lost, submit(connection, request)]))
      say(submitted.length)
      await after(leastPauseMs + Math.random() * (mostPauseMs - leastPauseMs), undefined, { signal })
    }
    return submitted
  } finally {
    connection.close()
  }
}

export default pickup

function submit(connection: RawConnection, request: string): Promise<Submitted> {
  return new Promise((resolve, reject) => {
    const sentAt = monotonicMs()
    connection.send(request, ({ status, bytes, bodyStart, bodyEnd }: RawAnswer) => {
      const answeredAt = monotonicMs()
      const body = bytes.toString('latin1', bodyStart, bodyEnd)
      if (status === 201) resolve({ executionId: JSON.parse(body).jobId, sentAt, answeredAt })
      else reject(new Error(`answered ${status}: ${body}`))
    })
  })
}
