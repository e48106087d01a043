/** Bulk submission by the library's own call, `enqueueMany`: batches of one tenant each, the tenants in turn. */
import { createCarillon, defineHandler } from '@carillon/server'
import type { Load } from '../ground/ground.ts'
import { monotonicMs } from '../measure/clock.ts'
import { handlerNames, payloadOf, type WorkPayload } from '../work.ts'
import type { BatchesAnswer } from './batches.ts'

export interface LibraryBatchesOptions {
  databaseUrl: string
  tenants: string[]
  batch: number
  inFlight: number
  count: number
}

export default (async ({ databaseUrl, tenants, batch, inFlight, count }, { ready }) => {
  const carillon = await createCarillon({ databaseUrl })
  await carillon.start()
  const handlers = handlerNames.map((name) => defineHandler<WorkPayload>({ name }))
  let begun = 0
  let submitted = 0
  const line = async () => {
    while (begun < count) {
      const from = begun
      begun += Math.min(batch, count - begun)
      const payloads = Array.from({ length: begun - from }, (_, i) => payloadOf(from + i))
      const turn = Math.floor(from / batch)
      const tenant = tenants[turn % tenants.length]!
      const handles = await carillon.enqueueMany(handlers[turn % handlers.length]!, payloads, { tenant })
      submitted += handles.length
    }
  }
  await ready()
  const startedAt = monotonicMs()
  await Promise.all(Array.from({ length: inFlight }, line))
  const elapsedMs = monotonicMs() - startedAt
  await carillon.stop()
  return { submitted, elapsedMs }
}) satisfies Load<LibraryBatchesOptions, BatchesAnswer>
