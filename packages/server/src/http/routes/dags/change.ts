import { api } from '@carillon/contract/api'
import { dagJsonOf } from '../../../dags/view.ts'
import { etagOf, versionOf } from '../../if-match.ts'
import { noContent, route } from '../../route.ts'

export const replaceDag = route(api.replaceDag, async ({ params, headers, body, caller }, { dags }) => {
  const { tenant, actor } = caller
  const { dag } = await dags.replace({ tenant, dag: params.dagId }, body, { actor, version: versionOf(headers) })
  return { status: 200, text: dagJsonOf(dag), headers: etagOf(dag.version) }
})

export const deleteDag = route(api.deleteDag, async ({ params, headers, caller }, { dags }) => {
  const { tenant, actor } = caller
  await dags.remove({ tenant, dag: params.dagId }, { actor, version: versionOf(headers) })
  return noContent
})
