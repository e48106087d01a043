/** A target that names a graph is refused if there is none; it may still be deleted before it is due. */
import { CarillonError } from '@carillon/contract'
import { isId } from '../domain/identity.ts'
import { readDag, readDagByKey } from '../store/dags/definitions.ts'
import type { Database } from '../store/database.ts'

export async function requireGraph(database: Database, tenant: string, named: string): Promise<void> {
  const byId = isId(named) ? await readDag(database, tenant, named.toLowerCase()) : null
  const dag = byId ?? (await readDagByKey(database, tenant, named))
  if (dag?.state === 'ACTIVE') return
  throw new CarillonError('DAG_UNKNOWN', {
    pointer: '/target/dag',
    message: `there is no graph ${named}`,
    hint: 'Check its id or key, or create it first: POST /v1/dags',
  })
}
