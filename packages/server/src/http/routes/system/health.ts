import { api } from '@carillon/contract/api'
import { ok, route } from '../../route.ts'

/** The process answers: nothing else is asked. */
export const healthz = route(api.healthz, async () => ok({ status: 'ok', checks: {} }))

/** Can it serve? Only with its database. */
export const readyz = route(api.readyz, async (_, { database }) => {
  try {
    await database.query('ready', 'select 1')
    return ok({ status: 'ok', checks: { database: 'ok' } })
  } catch {
    return { status: 503, body: { status: 'unavailable', checks: { database: 'cannot be reached' } } }
  }
})
