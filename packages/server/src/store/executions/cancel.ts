import type { Database } from '../database.ts'

export interface Cancelled {
  executionId: string
  /** FLAGGED: it runs; the worker is told and the end comes through its report or the sweeper. */
  verdict: 'CANCELLED' | 'FLAGGED' | 'ENDED' | 'UNKNOWN'
  workerId: string | null
  fence: number | null
}

interface Row {
  execution_id: string
  verdict: Cancelled['verdict'] | 'BUSY'
  worker_id: string | null
  fence: number | null
}

export interface Why {
  reason: string
  actor: string
  /** Each has a row in the audit; else whatever asked for all of them has one. */
  onRecord?: boolean
}

const againMs = 5
const maxRounds = 400

/** Asks again, each time in a transaction of its own, for executions that moved or were locked by a concurrent end. */
export async function cancel(database: Database, ids: string[], why: Why): Promise<Cancelled[]> {
  const answers: Cancelled[] = []
  let left = ids
  for (let round = 0; left.length > 0; round++) {
    if (round > maxRounds) throw new ExecutionsHeld(left)
    if (round > 1) await new Promise((resolve) => setTimeout(resolve, againMs))
    const rows = await cancelOnce(database, left, why)
    left = []
    for (const { execution_id: executionId, verdict, worker_id: workerId, fence } of rows) {
      if (verdict === 'BUSY') left.push(executionId)
      else answers.push({ executionId, verdict, workerId, fence })
    }
  }
  return answers
}

/** See functions/ends/cancel.sql. */
function cancelOnce(database: Database, ids: string[], why: Why): Promise<Row[]> {
  const values = [ids, why.reason, why.actor, database.now]
  if (why.onRecord)
    return database.query<Row>('cancel-on-record', 'select * from carillon.cancel_on_record($1, $2, $3, $4)', values)
  return database.query<Row>('cancel', 'select * from carillon.cancel($1, $2, $3, $4)', values)
}

/** Transient, like PostgreSQL's own lock_not_available: a handler's open transaction has completed the execution. */
class ExecutionsHeld extends Error {
  readonly code = '55P03'

  constructor(ids: string[]) {
    super(`executions stay held by another transaction: ${ids.slice(0, 10).join(', ')}`)
  }
}
