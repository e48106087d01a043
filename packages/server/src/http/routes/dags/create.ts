import { api } from '@carillon/contract/api'
import type { PutDag } from '../../../dags/dags.ts'
import { dagJsonOf } from '../../../dags/view.ts'
import { answerOnce, rendering } from '../../idempotency.ts'
import { etagOf } from '../../if-match.ts'
import { route } from '../../route.ts'

/** 201: it is new. 200: the graph with this key was there already. */
export const createDag = route(api.createDag, (request, services) =>
  answerOnce(api.createDag, request, services, async (key) => {
    await services.tenants.require(request.caller.tenant)
    const { tenant, actor } = request.caller
    const { once, textOf } = rendering(key, ({ dag }: PutDag) => dagJsonOf(dag))
    const put = await services.dags.put(tenant, request.body, { actor, once })
    return { status: put.what === 'CREATED' ? 201 : 200, text: textOf(put), headers: etagOf(put.dag.version) }
  }),
)
