import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { listAudit as read } from '../../../store/audit/list.ts'
import { ok, route } from '../../route.ts'
import { timeRangeOf } from '../../time-range.ts'

export const listAudit = route(api.listAudit, async ({ query, caller }, { database }) => {
  const { limit = 100, cursor, action, subject, installation = false } = query
  if (installation && !caller.platform) throw platformOnly()
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : idOf(cursor)
  const { entries, next } = await read(
    database,
    { tenant: installation ? null : caller.tenant, before, limit },
    { action: action ?? null, subject: subject ?? null, ...timeRangeOf(query) },
  )
  return ok({
    items: entries.map((entry) => ({ ...entry, at: new Date(entry.at) })),
    nextCursor: next === null ? null : Buffer.from(String(next)).toString('base64url'),
  })
})

function platformOnly(): CarillonError {
  return new CarillonError('TENANT_NOT_YOURS', {
    pointer: '/installation',
    message: 'the token belongs to a tenant',
    hint: 'Leave it out, or use a platform token with the scope admin',
  })
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
