import type { HeldExecution } from '@carillon/contract'
import { bigints, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

/** The handlers of these have begun; answers the ids that may go on. */
export async function beginHandlers(database: Database, held: HeldExecution[]): Promise<Set<string>> {
  const rows = await database.query<{ begun: string[] }>('begin', 'select carillon.begin_handlers($1, $2, $3) begun', [
    held.map((h) => h.executionId),
    held.map((h) => h.fence),
    database.now,
  ])
  return new Set(rows[0]!.begun)
}

/** Null: a sign of life only. */
export type ProgressNews = HeldExecution & { progress: string | null }

/** No id may be named twice. */
export async function storeProgress(database: Database, news: ProgressNews[]): Promise<void> {
  await database.query('store-progress', 'select carillon.store_progress($1, $2, $3, $4)', [
    uuids(news.map((n) => n.executionId)),
    bigints(news.map((n) => n.fence)),
    texts(news.map((n) => n.progress)),
    database.now,
  ])
}
