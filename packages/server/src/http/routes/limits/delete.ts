import { api } from '@carillon/contract/api'
import * as store from '../../../store/limits/declared.ts'
import { versionOf } from '../../if-match.ts'
import { noContent, route } from '../../route.ts'
import { limitMismatch, limitNotFound } from './get.ts'
import { limitOwner } from './owner.ts'
import { tellOfLimits } from './put.ts'

export const deleteLimit = route(api.deleteLimit, async ({ params, headers, caller }, { database, signals }) => {
  const asked = versionOf(headers) ?? null
  const wanted = { owner: limitOwner(caller), name: params.limit, version: asked, actor: caller.actor }
  const { verdict, version } = await store.deleteLimit(database, wanted)
  if (verdict === 'UNKNOWN') throw limitNotFound(params.limit)
  if (verdict === 'MISMATCH') throw limitMismatch(version, asked!)
  tellOfLimits(signals)
  return noContent
})
