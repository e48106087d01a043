import { bigints, integers, smallints, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'
import { type QueuedWork, queuedOf } from '../rows.ts'
import type { LedShard } from '../shards/claim.ts'

/** A schedule row to move on, named by what the leader saw of it. */
export interface Move {
  jobId: string
  version: number
  due: number
  /** Where it moves to; without a further occurrence, where it ended: everything before is on record. */
  nextNominal: number | null
  /** Null: no further occurrence. */
  nextDue: number | null
  fires: number
}

/** An occurrence to record: it fires, or is skipped for a reason (one row for `count` in a row). */
export interface Occurrence {
  jobId: string
  executionId: string
  nominal: number
  due: number
  tag: number
  skip: { reason: string; last: number; count: number } | null
}

export interface Fired {
  /** Jobs whose schedule moved. The others were changed, locked, or moved to another leader meanwhile. */
  moved: string[]
  fired: number
  duplicates: number
  /** Ids that belong to another occurrence already: must not happen. */
  collisions: string[]
  tooOld: string[]
  queued: QueuedWork[]
}

export async function fire(
  database: Database,
  shards: LedShard[],
  moves: Move[],
  occurrences: Occurrence[],
): Promise<Fired> {
  const rows = await database.query<{
    moved: string[] | null
    fired: number
    duplicates: number
    collisions: string[] | null
    too_old: string[] | null
    queued: [string, number, number, number][] | null
  }>('fire', 'select * from carillon.fire($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17)', [
    smallints(shards.map((s) => s.shard)),
    bigints(shards.map((s) => s.epoch)),
    uuids(moves.map((m) => m.jobId)),
    integers(moves.map((m) => m.version)),
    bigints(moves.map((m) => m.due)),
    bigints(moves.map((m) => m.nextNominal)),
    bigints(moves.map((m) => m.nextDue)),
    integers(moves.map((m) => m.fires)),
    uuids(occurrences.map((o) => o.jobId)),
    uuids(occurrences.map((o) => o.executionId)),
    bigints(occurrences.map((o) => o.nominal)),
    bigints(occurrences.map((o) => o.due)),
    bigints(occurrences.map((o) => o.tag)),
    texts(occurrences.map((o) => o.skip?.reason ?? null)),
    bigints(occurrences.map((o) => o.skip?.last ?? null)),
    integers(occurrences.map((o) => o.skip?.count ?? null)),
    database.now,
  ])
  const row = rows[0]
  return {
    moved: row?.moved ?? [],
    fired: row?.fired ?? 0,
    duplicates: row?.duplicates ?? 0,
    collisions: row?.collisions ?? [],
    tooOld: row?.too_old ?? [],
    queued: queuedOf(row?.queued ?? null),
  }
}
