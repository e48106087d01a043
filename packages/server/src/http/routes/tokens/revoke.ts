import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { revokeKey } from '../../../store/api-keys/revoke.ts'
import { noContent, route } from '../../route.ts'
import { writing } from './view.ts'

/** A tenant's caller revokes keys of its tenant; a platform token those of the tenant it acts for, and platform ones. */
export const revokeToken = route(api.revokeToken, async ({ params, caller }, { database }) => {
  const { tenant, platform, actor } = caller
  const revoked = await writing(() => revokeKey(database, { keyId: params.keyId, actor, within: { tenant, platform } }))
  if (revoked) return noContent
  throw new CarillonError('TOKEN_NOT_FOUND', {
    message: `there is no token ${params.keyId}`,
    hint: 'Give the id that the list shows, and act for its tenant',
  })
})
