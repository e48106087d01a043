import { setTimeout as pause } from 'node:timers/promises'
import { api } from '@carillon/contract/api'
import { together } from '../../../lib/together.ts'
import type { Database } from '../../../store/database.ts'
import { ok, route } from '../../route.ts'

/** The process answers: nothing else is asked. */
export const healthz = route(api.healthz, async () => ok({ status: 'ok', checks: {} }))

/** What asks whether a node is ready does not wait for long. */
const patienceMs = 2_000

const reach = together((database: Database) => database.query('ready', 'select 1'))

/** Can it serve? Only with its database. */
export const readyz = route(api.readyz, async (_, { database }) => {
  try {
    await within(patienceMs, reach(database))
    return ok({ status: 'ok', checks: { database: 'ok' } })
  } catch {
    return { status: 503, body: { status: 'unavailable', checks: { database: 'cannot be reached' } } }
  }
})

async function within(ms: number, answer: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  const late = pause(ms, null, { signal: over.signal }).then(() => Promise.reject(new Error('no answer')))
  try {
    await Promise.race([answer, late])
  } finally {
    late.catch(() => {})
    over.abort()
  }
}
