import { outsideWorkerId } from '../../domain/outside-worker.ts'
import type { Database } from '../database.ts'
import type { AttemptVerdict } from './report.ts'

/** An execution whose outcome an external system will report. */
export interface Deferral {
  executionId: string
  fence: number
  startedAt: number | null
  log: string | null
  actor: string
}

/** See functions/leases/defer.sql. No id may be named twice. */
export async function defer(database: Database, deferrals: Deferral[]): Promise<AttemptVerdict[]> {
  const rows = await database.query<{ verdicts: AttemptVerdict[] }>(
    'defer',
    'select carillon.defer($1,$2,$3,$4,$5,$6,$7) verdicts',
    [
      deferrals.map((d) => d.executionId),
      deferrals.map((d) => d.fence),
      deferrals.map((d) => (d.startedAt === null ? null : Math.round(d.startedAt))),
      deferrals.map((d) => d.log),
      deferrals.map((d) => d.actor),
      outsideWorkerId,
      database.now,
    ],
  )
  return rows[0]!.verdicts
}
