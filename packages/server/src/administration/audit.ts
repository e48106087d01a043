/** How long the audit is kept: only the owner of the schema sets it. */
import { readAuditRetention, setAuditRetention } from '../store/audit/refusals.ts'
import { type DatabasePlace, onDatabase } from './connection.ts'

/** In days; null: for good. */
export function auditRetention(place: DatabasePlace): Promise<number | null> {
  return onDatabase(place, (database) => readAuditRetention(database))
}

export function keepAudit(place: DatabasePlace, days: number | null): Promise<void> {
  return onDatabase(place, (database) => setAuditRetention(database, days))
}
