/** Requests with an Idempotency-Key and how they were answered. Primary key: tenant, route, key. */
import type { Database } from '../database.ts'

/** What makes a request the same as one before. */
export interface RequestKey {
  tenant: string
  route: string
  key: string
  /** SHA-256 of what was asked for, in hex. */
  hash: string
}

/** The answer as it will be given, written in the transaction that does what was asked for. */
export interface AnswerEntry extends RequestKey {
  answer: string
}

/** Builds the entry of a request from its result, before the commit. */
export interface Once<Made> {
  key: RequestKey
  answer: (made: Made) => string | Promise<string>
}

export async function entryOf<Made>(once: Once<Made> | undefined, made: Made): Promise<AnswerEntry | null> {
  return once === undefined ? null : { ...once.key, answer: await once.answer(made) }
}

/** Thrown instead of doing it again; the route reads the answer and repeats it. */
export class AnsweredBefore extends Error {
  constructor() {
    super('the request was answered before')
  }
}

/** Stores the answer of a request that changed nothing. */
export async function claimAnswer(database: Database, entry: AnswerEntry): Promise<void> {
  const rows = await database.query<{ claimed: boolean }>(
    'claim-answer',
    'select carillon.claim_answer($1, $2) claimed',
    [JSON.stringify(entry), database.now],
  )
  if (!rows[0]!.claimed) throw new AnsweredBefore()
}

export async function readAnswer(
  database: Database,
  request: RequestKey,
): Promise<{ hash: string; answer: string } | null> {
  const rows = await database.query<{ hash: string; answer: string }>(
    'read-answer',
    `select encode(body_hash, 'hex') hash, answer from carillon.idempotency
     where tenant = $1 and route = $2 and key = $3 and at > coalesce($4, clock_timestamp()) - interval '24 hours'`,
    [request.tenant, request.route, request.key, database.now],
  )
  return rows[0] ?? null
}

/** Removes expired answers, at most `limit`. Index: idempotency_at. */
export async function pruneAnswers(database: Database, limit: number): Promise<number> {
  const rows = await database.query<{ n: number }>(
    null,
    `with gone as (
       delete from carillon.idempotency where ctid = any (array(
         select ctid from carillon.idempotency where at <= coalesce($2, clock_timestamp()) - interval '24 hours' limit $1
         for update skip locked))
       returning 1)
     select count(*) n from gone`,
    [limit, database.now],
  )
  return rows[0]!.n
}
