/** The audit in the order of its ids, as a subscription reads it. Locks: none. Index: audit_pkey. */
import type { Database } from '../database.ts'
import type { AuditRecord } from './list.ts'

/** As `readAhead` of the events. */
export async function readAuditAhead(
  database: Database,
  after: number,
  limit: number,
): Promise<{ reached: number | null; seen: number | null }> {
  const rows = await database.query<{ reached: number | null; seen: number | null }>(
    'audit-ahead',
    `select max(audit_id) filter (where base = $1) reached, max(audit_id) seen from (
       select audit_id, audit_id - row_number() over (order by audit_id) base from (
         select audit_id from carillon.audit where audit_id > $1 order by audit_id limit $2) a) b`,
    [after, limit],
  )
  return rows[0]!
}

/** See functions/events/audit_writers.sql. */
export async function readAuditWriters(database: Database): Promise<{ lastId: number; writers: string[] }> {
  const rows = await database.query<{ last_id: number; writers: string[] }>(
    'audit-writers',
    'select last_id, writers from carillon.audit_writers()',
  )
  return { lastId: rows[0]!.last_id, writers: rows[0]!.writers }
}

/** The entries of all tenants and of the installation between two ids, the latter included. */
export function readAuditBetween(
  database: Database,
  { after, upTo }: { after: number; upTo: number },
): Promise<AuditRecord[]> {
  return database.query<AuditRecord & Record<string, unknown>>(
    'audit-between',
    `select audit_id "auditId", carillon.ms(at) at, tenant, actor, action, subject, detail from carillon.audit
     where audit_id > $1 and audit_id <= $2 order by audit_id`,
    [after, upTo],
  )
}
