import { setTimeout as pause } from 'node:timers/promises'
import { api } from '@carillon/contract/api'
import { shareInFlight } from '../../../lib/share-in-flight.ts'
import type { Database } from '../../../store/database.ts'
import { countQuarantined } from '../../../store/quarantine/read.ts'
import { ok, route } from '../../route.ts'

/** The process answers: nothing else is asked. */
export const healthz = route(api.healthz, async () => ok({ status: 'ok', checks: {} }))

/** What asks whether a node is ready does not wait for long. */
const patienceMs = 2_000

/** Counted up to here. */
const mostQuarantined = 1_000

/** Answers how many rows are set aside. */
const reach = shareInFlight(async (database: Database) => {
  const counts = Object.values(await countQuarantined(database, mostQuarantined))
  return counts.reduce((sum, count) => sum + count, 0)
})

/** Can it serve? Only with its database. Rows that were set aside are named, but the node serves all the others. */
export const readyz = route(api.readyz, async (_, { database }) => {
  try {
    const count = await within(patienceMs, reach(database))
    const rows = count >= mostQuarantined ? `${mostQuarantined} rows or more` : count === 1 ? '1 row' : `${count} rows`
    const quarantine = count === 0 ? 'ok' : `${rows} quarantined: see carillon quarantine list`
    return ok({ status: 'ok', checks: { database: 'ok', quarantine } })
  } catch {
    return { status: 503, body: { status: 'unavailable', checks: { database: 'cannot be reached' } } }
  }
})

async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = pause(ms, null, { signal: over.signal }).then(
    (): Promise<never> => Promise.reject(new Error('no answer')),
  )
  try {
    return await Promise.race([answer, late])
  } finally {
    late.catch(() => {})
    over.abort()
  }
}
