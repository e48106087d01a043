/** API keys as the API shows them, and who may touch them. */
import { CarillonError, type Scope } from '@carillon/contract'
import type { ApiKeyRow } from '../../../store/api-keys/row.ts'
import { codeOf } from '../../../store/trouble.ts'

export function tokenView(key: ApiKeyRow): ApiKeyRow & { scopes: Scope[] } {
  return { ...key, scopes: key.scopes as Scope[] }
}

export function platformOnly(): CarillonError {
  return new CarillonError('TENANT_NOT_YOURS', {
    pointer: '/platform',
    message: 'the token belongs to a tenant',
    hint: 'Leave it out, or use a platform token with the scope admin',
  })
}

/** Nodes whose database role does not own the schema may be kept from writing keys: the operator decides. */
export async function writing<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (codeOf(error) !== '42501') throw error
    throw new CarillonError(
      'TOKENS_NOT_WRITABLE',
      {
        message: 'the database role of this node may not write API keys',
        hint: 'Use carillon tokens as the owner of the database, or let nodes write keys: see docs/guides/database-roles.md',
      },
      { cause: error },
    )
  }
}
