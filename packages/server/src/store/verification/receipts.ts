/** What nodes have acknowledged, beside what the ledger has; and what the database is known to have lost. See functions/verification/receipts.sql. */
import { bigints, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

/** Submissions that a node acknowledged, by tenant and by the minute that their ids name. */
export interface Receipt {
  tenant: string
  minute: number
  book: string
  count: number
}

export interface Beat {
  beat: number
  at: number
  /** Of the server's write-ahead log: it changes when a replica is promoted. */
  timeline: string
}

export interface BeatAnswer extends Beat {
  /** What the database had when this one came. Null: nothing. */
  before: Beat | null
}

/**
 * A node's next beat, with what it has acknowledged since. `seen`: the last beat that the database confirmed. If the database has an
 * earlier one, it has lost what was committed since: that is put on record.
 */
export async function writeBeat(
  database: Database,
  nodeId: string,
  seen: Pick<Beat, 'beat' | 'at'> | null,
  receipts: readonly Receipt[],
): Promise<BeatAnswer> {
  const rows = await database.query<Beat & { oldBeat: number | null; oldAt: number; oldTimeline: string }>(
    'write-beat',
    `select beat, at, timeline, old_beat "oldBeat", old_at "oldAt", old_timeline "oldTimeline"
     from carillon.write_beat($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      ...[nodeId, seen?.beat ?? null, seen?.at ?? null],
      texts(receipts.map(({ tenant }) => tenant)),
      bigints(receipts.map(({ minute }) => minute)),
      uuids(receipts.map(({ book }) => book)),
      bigints(receipts.map(({ count }) => count)),
      database.now,
    ],
  )
  const { oldBeat, oldAt, oldTimeline, ...beat } = rows[0]!
  return { ...beat, before: oldBeat === null ? null : { beat: oldBeat, at: oldAt, timeline: oldTimeline } }
}

export interface Counted {
  minute: number
  acknowledged: number
  kept: number
}

/** Minutes from `from` on and before `before`, as many as hold about `rows` submissions. None: there are no more. */
export async function readReceipts(
  database: Database,
  { tenant, from, before, rows }: { tenant: string | null; from: number; before: number; rows: number },
): Promise<Counted[]> {
  return database.query<{ minute: number; acknowledged: number; kept: number }>(
    'verify-receipts',
    'select minute, acknowledged, kept from carillon.verify_receipts($1, $2, $3, $4)',
    [tenant, from, before, rows],
  )
}

/** Everything committed after `keptUntil` and up to `seenUntil` may be gone. Milliseconds. */
export interface Loss {
  keptUntil: number
  seenUntil: number
}

/** The newest that touch the range. */
export async function readLosses(database: Database, { from, to }: { from: number; to: number }): Promise<Loss[]> {
  return database.query<{ keptUntil: number; seenUntil: number }>(
    'read-losses',
    `select carillon.ms(l.kept_until) "keptUntil", carillon.ms(l.seen_until) "seenUntil" from carillon.losses l
     where l.seen_until >= carillon.at($1) and l.kept_until < carillon.at($2) order by l.loss_id desc limit 100`,
    [from, to],
  )
}

/** Removes receipts of minutes before `before`. Answers how many rows went. Index: receipts_minute. */
export async function pruneReceipts(database: Database, before: number, limit: number): Promise<number> {
  const rows = await database.query<{ n: number }>(
    null,
    `with gone as (
       delete from carillon.receipts where ctid in (
         select r.ctid from carillon.receipts r where r.minute < carillon.at($1) limit $2) returning 1),
     silent as (delete from carillon.beats b where b.at < carillon.at($1))
     select count(*) n from gone`,
    [before, limit],
  )
  return rows[0]!.n
}
