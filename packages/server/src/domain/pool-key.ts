/**
 * What the queue tables call a pool. The installation's pool is its name; a tenant's is the tenant, a separator that no name can contain, and
 * the name, so that every tenant has its own `email`. Outside of the tables there are only names; store/functions/pools/pools.sql is the
 * same in SQL.
 */
const separator = '\u001f'

/** The name of a pool. */
export function poolName(key: string): string {
  return key.slice(key.lastIndexOf(separator) + 1)
}
