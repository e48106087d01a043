import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import type { Operator } from '../../../quarantine/quarantine.ts'
import type { Quarantined } from '../../../store/quarantine/read.ts'
import { type Caller, ok, route } from '../../route.ts'

const listQuarantined = route(api.listQuarantined, async ({ query, caller }, { quarantine }) => {
  const { limit = 100, cursor, source = null, about = null } = query
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : idOf(cursor)
  const { rows, next } = await quarantine.list({ tenant: operatorOf(caller).tenant, source, about, before, limit })
  return ok({
    items: rows.map(viewOf),
    nextCursor: next === null ? null : Buffer.from(String(next)).toString('base64url'),
  })
})

const releaseQuarantined = route(api.releaseQuarantined, async ({ params, caller }, { quarantine }) =>
  ok(viewOf(await quarantine.release(operatorOf(caller), Number(params.quarantineId)))),
)

const discardQuarantined = route(api.discardQuarantined, async ({ params, caller }, { quarantine }) =>
  ok(viewOf(await quarantine.discard(operatorOf(caller), Number(params.quarantineId)))),
)

export const quarantineRoutes = { listQuarantined, releaseQuarantined, discardQuarantined }

/** Rows are the installation's business: a platform token sees those of no tenant too. */
function operatorOf({ platform, tenant, actor }: Caller): Operator {
  return { tenant: platform ? null : tenant, actor }
}

function viewOf(row: Quarantined) {
  return { ...row, at: new Date(row.at).toISOString() }
}

function idOf(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new CarillonError('VALIDATION', {
    pointer: '/cursor',
    message: 'is not a cursor of this list',
    hint: 'Give `nextCursor` of the page before, as it is, or leave it out to start over',
  })
}
