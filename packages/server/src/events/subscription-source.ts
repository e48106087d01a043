/** What a subscription reads: events or the audit, of all tenants, in the order of their ids. */
import type { AuditRecord } from '../store/audit/list.ts'
import { readAuditAhead, readAuditBetween, readAuditWriters } from '../store/audit/read.ts'
import type { Database } from '../store/database.ts'
import { type LedgerFacts, readLedgerFacts } from '../store/events/dead-letters.ts'
import { type EventRow, readAllBetween, readEventIds } from '../store/events/read.ts'
import type { Source } from '../store/events/subscriptions.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { eventRow } from '../store/quarantine/set-aside.ts'
import { eventLog } from './event-log.ts'
import type { Log } from './settled-position.ts'

export interface SubscriptionSource<Row> extends Log {
  readonly source: Source
  /** Where a new subscription begins; null: at the first change that begins after it. */
  readonly from: number | null
  /** What a subscription may choose by. */
  typeOf(row: Row): string
  read(range: { after: number; upTo: number }): Promise<Row[]>
}

export interface SubscribedEvent extends EventRow {
  /** Of an execution that died, what the ledger has of it; null: its history has ended. */
  ledger: LedgerFacts | null
}

/** A row that cannot be read is quarantined, and the others are read without it. */
export function eventSource(database: Database, isolation: Isolation): SubscriptionSource<SubscribedEvent> {
  return {
    ...eventLog(database),
    source: 'EVENTS',
    from: null,
    typeOf: ({ type }) => type,
    async read(range) {
      const { answers, stoppedBy } = await isolation.runRead('read of events', {
        all: () => readAllBetween(database, range),
        read: () => readEventIds(database, range),
        work: (only) => readAllBetween(database, range, only),
        rowOf: eventRow,
      })
      if (stoppedBy) throw stoppedBy.error
      const rows = answers.flat()
      const dead = rows.filter(({ type }) => type === 'execution.dead').map(({ executionId }) => executionId!)
      const facts = dead.length === 0 ? new Map<string, LedgerFacts>() : await readLedgerFacts(database, dead)
      return rows.map((row) => ({ ...row, ledger: facts.get(row.executionId ?? '') ?? null }))
    },
  }
}

/** From the first entry that is kept: a copy of the audit is whole. */
export function auditSource(database: Database): SubscriptionSource<AuditRecord> {
  return {
    source: 'AUDIT',
    from: 0,
    typeOf: ({ action }) => action,
    readAhead: (after, limit) => readAuditAhead(database, after, limit),
    readWriters: () => readAuditWriters(database),
    read: (range) => readAuditBetween(database, range),
  }
}
