/**
 * Who did what in a tenant, newest first, a bounded piece at a time: at most `lookedAt` rows are walked, and the page says
 * where to go on. Locks: none. Index: audit_tenant.
 */
import type { AuditEntry, Timed } from '@carillon/contract'
import type { Database } from '../database.ts'

export interface AuditFilter {
  /** Null: any. */
  action: string | null
  subject: string | null
  from: number | null
  /** Exclusive. */
  to: number | null
}

/** `at` in milliseconds. */
export type AuditRecord = Timed<AuditEntry, 'at', number>

export interface AuditPiece {
  entries: AuditRecord[]
  /** The id to go on from; null: that was all. */
  next: number | null
}

const lookedAt = 5_000

/** `before`: entries with a smaller id only. Tenant null: entries that belong to none. */
export async function listAudit(
  database: Database,
  { tenant, before, limit }: { tenant: string | null; before: number; limit: number },
  { action, subject, from, to }: AuditFilter,
): Promise<AuditPiece> {
  // Not prepared: planned for the tenant at hand. The last one looked at comes too, whether it fits or not.
  const rows = await database.query<AuditRecord & { fits: boolean; number: number }>(
    null,
    `select audit_id "auditId", carillon.ms(at) at, tenant, actor, action, subject, detail, fits, number
     from (
       select a.*, row_number() over (order by a.audit_id desc) number,
         ($5::text is null or a.action = $5) and ($6::text is null or a.subject = $6)
         and ($7::bigint is null or a.at >= carillon.at($7)) and ($8::bigint is null or a.at < carillon.at($8)) fits
       from carillon.audit a where (a.tenant = $1 or $1::text is null and a.tenant is null) and a.audit_id < $2 order by a.audit_id desc limit $3) looked
     where fits or number = $3 order by audit_id desc limit $4`,
    [tenant, before, lookedAt, limit + 1, action, subject, from, to],
  )
  const fitting = rows.filter((row) => row.fits)
  const entries = fitting.slice(0, limit).map(({ fits: _, number: __, ...entry }) => entry)
  if (fitting.length > limit) return { entries, next: entries.at(-1)!.auditId }
  const last = rows.at(-1)
  return { entries, next: last?.number === lookedAt ? last.auditId : null }
}
