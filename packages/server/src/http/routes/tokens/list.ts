import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { listTenantKeys } from '../../../store/api-keys/list.ts'
import { ok, route } from '../../route.ts'
import { platformOnly, tokenView } from './view.ts'

export const listTokens = route(api.listTokens, async ({ query, caller }, { database }) => {
  const { limit = 100, cursor, platform = false } = query
  if (platform && !caller.platform) throw platformOnly()
  const after = cursor === undefined ? null : keyIdOf(cursor)
  const keys = await listTenantKeys(database, { tenant: platform ? null : caller.tenant, after, limit })
  const last = keys.length === limit ? keys.at(-1) : undefined
  return ok({ items: keys.map(tokenView), nextCursor: last ? cursorOf(last.keyId) : null })
})

function cursorOf(keyId: string): string {
  return Buffer.from(keyId).toString('base64url')
}

function keyIdOf(cursor: string): string {
  const keyId = Buffer.from(cursor, 'base64url').toString()
  if (/^[\w-]{1,100}$/.test(keyId)) return keyId
  throw new CarillonError('VALIDATION', {
    pointer: '/cursor',
    message: 'is not a cursor of this list',
    hint: 'Give `nextCursor` of the page before, as it is, or leave it out to start over',
  })
}
