import type { Database } from '../database.ts'

/** With a row in the audit. False: it is no dead letter of the tenant, or not any more. See functions/operations/on_record.sql. */
export async function purge(
  database: Database,
  { tenant, executionId, actor }: { tenant: string; executionId: string; actor: string },
): Promise<boolean> {
  const rows = await database.query<{ verdict: 'PURGED' | 'KEPT' }>(
    'purge-on-record',
    'select carillon.purge_on_record($1, $2, $3, $4) verdict',
    [executionId, tenant, actor, database.now],
  )
  return rows[0]!.verdict === 'PURGED'
}
