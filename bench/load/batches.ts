/**
 * Bulk submission over HTTP with the SDK's client: batches of one tenant each, the tenants in turn, several requests under
 * way. Either a fixed number, or until it is stopped; then it may be kept from running ahead of those who work by
 * telling it how many are done.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { createClient } from '@carillon/sdk'
import type { Load } from '../ground/ground.ts'
import { monotonicMs } from '../measure/clock.ts'
import { handlerOf, payloadOf } from '../work.ts'

export interface BatchesOptions {
  urls: string[]
  tokens: string[]
  /** In one request. */
  batch: number
  /** Requests at the same time. */
  inFlight: number
  /** Left out: until it is stopped. */
  count?: number
  /** So many more than it was told are done. */
  mostAhead?: number
  /** About so large, and nothing that compresses well; as everybody's unless given. */
  payloadBytes?: number
  /** Each names one of so many keys of the limit `acct`. */
  limitKeys?: number
}

export interface BatchesAnswer {
  submitted: number
  /** From the first request to the last answer. */
  elapsedMs: number
}

export default (async (options, { signal, ready, onTold }) => {
  const { urls, tokens, batch, inFlight, count, mostAhead, payloadBytes, limitKeys } = options
  const padding = payloadBytes === undefined ? {} : { padding: randomBytes(payloadBytes * 0.75).toString('base64') }
  const clients = tokens.map((token) => createClient({ urls, token }))
  const most = count ?? Number.POSITIVE_INFINITY
  let begun = 0
  let submitted = 0
  let done = 0
  let room = Promise.withResolvers<void>()
  const makeRoom = () => {
    room.resolve()
    room = Promise.withResolvers()
  }
  onTold((word) => {
    done = word as number
    makeRoom()
  })
  signal.addEventListener('abort', makeRoom)

  const submit = async (client: (typeof clients)[number], from: number, size: number) => {
    const jobs = Array.from({ length: size }, (_, i) => ({
      type: 'ONE_SHOT' as const,
      target: { handler: handlerOf(from + i) },
      payload: { ...payloadOf(from + i), ...padding },
      ...(limitKeys !== undefined && { limits: [`acct:${(from + i) % limitKeys}`] }),
    }))
    const { items } = await client.call('createJobs', { body: { jobs }, headers: { 'idempotency-key': randomUUID() } })
    submitted += items.length
  }
  const line = async () => {
    while (begun < most && !signal.aborted) {
      if (mostAhead !== undefined && begun - done >= mostAhead) {
        await room.promise
        continue
      }
      const from = begun
      begun += Math.min(batch, most - begun)
      await submit(clients[Math.floor(from / batch) % clients.length]!, from, begun - from)
    }
  }

  await ready()
  const startedAt = monotonicMs()
  await Promise.all(Array.from({ length: inFlight }, line))
  const elapsedMs = monotonicMs() - startedAt
  await Promise.all(clients.map((client) => client.close()))
  return { submitted, elapsedMs }
}) satisfies Load<BatchesOptions, BatchesAnswer>
