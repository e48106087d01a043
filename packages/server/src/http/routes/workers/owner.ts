import type { Caller } from '../../route.ts'

/** Whose a worker or a pool is: the tenant's that asks; null: the installation's. */
export function ownerOf({ platform, tenant }: Caller): string | null {
  return platform ? null : tenant
}
