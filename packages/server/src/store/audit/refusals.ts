/** Refusals in the audit: bounded, the rest counted. See functions/administration/audit.sql. */
import { jsonbs, texts } from '../arrays.ts'
import type { Database } from '../database.ts'

export interface Refusal {
  /** Null: the installation's. */
  tenant: string | null
  actor: string
  subject: string
  detail: object
}

export async function noteRefusals(database: Database, action: string, refusals: Refusal[]): Promise<void> {
  if (refusals.length === 0) return
  await database.query(
    'note-refusals',
    'select carillon.note_refusals($1, $2, $3, $4, $5, coalesce($6, clock_timestamp()))',
    [
      action,
      texts(refusals.map(({ tenant }) => tenant)),
      texts(refusals.map(({ actor }) => actor)),
      texts(refusals.map(({ subject }) => subject)),
      jsonbs(refusals.map(({ detail }) => JSON.stringify(detail))),
      database.now,
    ],
  )
}

/** Sums up the minutes that are over. */
export async function sumUpRefusals(database: Database): Promise<void> {
  await database.query('sum-up-refusals', 'select carillon.sum_up_refusals($1)', [database.now])
}

/** Removes rows older than the audit's retention, at most `limit`; answers how many. */
export async function pruneAudit(database: Database, limit: number): Promise<number> {
  const rows = await database.query<{ n: number }>('prune-audit', 'select carillon.prune_audit($1) n', [limit])
  return rows[0]!.n
}

/** In days; null: for good. For the owner of the schema. */
export async function setAuditRetention(database: Database, days: number | null): Promise<void> {
  await database.query(null, 'select carillon.set_audit_retention($1)', [days])
}

export async function readAuditRetention(database: Database): Promise<number | null> {
  const rows = await database.query<{ days: number | null }>(
    null,
    'select audit_retention_days days from carillon.installation',
  )
  return rows[0]?.days ?? null
}
