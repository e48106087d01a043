import { api } from '@carillon/contract/api'
import { dagJsonOf } from '../../../dags/view.ts'
import { labelOf } from '../../label-filter.ts'
import { route } from '../../route.ts'

export const listDags = route(api.listDags, async ({ query, caller }, { dags }) => {
  const { limit = 100, cursor, state = null, key = null, managedBy = null, label = [] } = query
  const filter = { state, key, managedBy, labels: label.map(labelOf) }
  const { records, nextCursor } = await dags.list(caller.tenant, filter, { limit, cursor })
  return {
    status: 200,
    text: `{"items":[${records.map(dagJsonOf).join(',')}],"nextCursor":${JSON.stringify(nextCursor)}}`,
  }
})
