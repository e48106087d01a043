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
  /** Each in a batch of one, which is not handed over to a waiting worker but goes through the queue. */
  queued?: boolean
}

export interface Submitted {
  executionId: string
  /** Just before the request was written, by `monotonicMs`. */
  sentAt: number
  /** When it had been answered. */
  answeredAt: number
}

const pickup: Load<PickupOptions, Submitted[]> = async (options, { signal, say }) => {
  const { url, tokens, submissions, leastPauseMs, mostPauseMs, queued = false } = options
  const { promise: lost, reject } = Promise.withResolvers<never>()
  const connection = await RawConnection.open(url, reject)
  const submitted: Submitted[] = []
  try {
    for (let n = 0; n < submissions; n++) {
      const job = { type: 'ONE_SHOT', target: { handler: handlerOf(n) }, payload: payloadOf(n) }
      const request = requestText({
        ...{ method: 'POST', path: queued ? '/v1/jobs/batch' : '/v1/jobs' },
        ...{ host: new URL(url).host, token: anyOf(tokens), body: queued ? { jobs: [job] } : job },
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
      if (status === 201) resolve({ executionId: idOf(JSON.parse(body)), sentAt, answeredAt })
      else reject(new Error(`answered ${status}: ${body}`))
    })
  })
}

function idOf(answer: { jobId: string } | { items: [{ jobId: string }] }): string {
  return 'items' in answer ? answer.items[0].jobId : answer.jobId
}
