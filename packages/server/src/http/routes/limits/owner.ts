import type { LimitOwner } from '../../../store/limits/declared.ts'
import type { Caller } from '../../route.ts'

/** Whose limits the caller means: those of its tenant or of the tenant that a platform token names; null: the installation's. */
export function limitOwner({ platform, actsForTenant, tenant }: Caller): LimitOwner {
  return platform && !actsForTenant ? null : tenant
}
