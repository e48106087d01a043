import { api } from '@carillon/contract/api'
import { dagJsonOf } from '../../../dags/view.ts'
import { etagOf } from '../../if-match.ts'
import { route } from '../../route.ts'

/** Also one that is DELETED, by its id: runs name it. */
export const getDag = route(api.getDag, async ({ params, caller }, { dags }) => {
  const dag = await dags.read({ tenant: caller.tenant, dag: params.dagId })
  return { status: 200, text: dagJsonOf(dag), headers: etagOf(dag.version) }
})
