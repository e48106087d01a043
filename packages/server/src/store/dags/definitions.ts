/** Graphs: their rows, read by id and by key, created and changed. Indexes: dags_pkey, dags_key. */
import type { DagState } from '@carillon/contract'
import type { Database } from '../database.ts'
import { type AnswerEntry, AnsweredBefore } from '../idempotency/answers.ts'
import { iso } from '../rows.ts'

/** What a version of a graph is. */
export interface DagDefinition {
  name: string
  managedBy: string | null
  labels: Record<string, string> | null
  deadlineSec: number | null
  /** JSON text, in the form of the contract: as they were asked for. */
  steps: string
}

/** Times in milliseconds. */
export interface DagRecord extends DagDefinition {
  dagId: string
  version: number
  tenant: string
  key: string | null
  state: DagState
  createdAt: number
  updatedAt: number
}

export interface DagRow {
  dag_id: string
  version: number
  tenant: string
  name: string
  key: string | null
  managed_by: string | null
  labels: Record<string, string> | null
  deadline_sec: number | null
  steps: string
  state: DagState
  created_at: number
  updated_at: number
}

export const dagColumns = `d.dag_id, d.version, d.tenant, d.name, d.key, d.managed_by, d.labels, d.deadline_sec, d.steps, d.state,
  carillon.ms(d.created_at) created_at, carillon.ms(d.updated_at) updated_at`

/** Also one that is DELETED. */
export async function readDag(database: Database, tenant: string, dagId: string): Promise<DagRecord | null> {
  const rows = await database.query<DagRow>(
    'read-dag',
    `select ${dagColumns} from carillon.dags d where d.dag_id = $1 and d.tenant = $2`,
    [dagId, tenant],
  )
  return rows[0] ? dagRecordOf(rows[0]) : null
}

export async function readDagByKey(database: Database, tenant: string, key: string): Promise<DagRecord | null> {
  const rows = await database.query<DagRow>(
    'read-dag-by-key',
    `select ${dagColumns} from carillon.dags d where d.tenant = $1 and d.key = $2 and d.state <> 'DELETED'`,
    [tenant, key],
  )
  return rows[0] ? dagRecordOf(rows[0]) : null
}

/** Who asks for it, and the request if it must not be done twice. */
export interface AskedBy {
  actor: string
  entry: AnswerEntry | null
}

/** False: its key was taken meanwhile. Throws AnsweredBefore. See functions/dags/create_dag.sql. */
export function createDag(database: Database, dag: DagRecord, { actor, entry }: AskedBy): Promise<boolean> {
  const { dagId, tenant, key, createdAt } = dag
  const row = { ...rowOf(dag), dag_id: dagId, tenant, key, created_at: iso(createdAt), updated_at: iso(createdAt) }
  return written(database, 'create-dag', 'select carillon.create_dag($1, $2, $3, $4) verdict', [
    ...[entry && JSON.stringify(entry), JSON.stringify(row), actor, database.now],
  ])
}

/**
 * Makes a graph what it is to be, a version later; or deletes it, if that is its state. False: it was changed or deleted since
 * `seen` was read. Throws AnsweredBefore. See functions/dags/change_dag.sql.
 */
export function changeDag(
  database: Database,
  seen: DagRecord,
  dag: DagRecord,
  { actor, entry }: AskedBy,
): Promise<boolean> {
  const row = dag.state === 'DELETED' ? null : { ...rowOf(dag), updated_at: iso(dag.updatedAt) }
  return written(database, 'change-dag', 'select carillon.change_dag($1, $2, $3, $4, $5, $6) verdict', [
    ...[entry && JSON.stringify(entry), seen.dagId, seen.version, row && JSON.stringify(row), actor, database.now],
  ])
}

async function written(database: Database, name: string, text: string, values: unknown[]): Promise<boolean> {
  const rows = await database.query<{ verdict: 'DONE' | 'ANSWERED' | 'AGAIN' }>(name, text, values)
  const { verdict } = rows[0]!
  if (verdict === 'ANSWERED') throw new AnsweredBefore()
  return verdict === 'DONE'
}

function rowOf({ name, managedBy, labels, deadlineSec, steps }: DagDefinition): object {
  return { name, managed_by: managedBy, labels, deadline_sec: deadlineSec, steps }
}

export function dagRecordOf(row: DagRow): DagRecord {
  return {
    dagId: row.dag_id,
    version: row.version,
    tenant: row.tenant,
    name: row.name,
    key: row.key,
    managedBy: row.managed_by,
    labels: row.labels,
    deadlineSec: row.deadline_sec,
    steps: row.steps,
    state: row.state,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** Removes graphs deleted before `before`, at most `limit`; answers how many. */
export async function pruneDags(database: Database, before: number, limit: number): Promise<number> {
  const rows = await database.query<{ n: number }>(
    null,
    `with gone as (
       delete from carillon.dags where dag_id in (
         select dag_id from carillon.dags where state = 'DELETED' and updated_at < carillon.at($1)
         order by dag_id limit $2 for update skip locked)
       returning 1)
     select count(*) n from gone`,
    [before, limit],
  )
  return rows[0]!.n
}
