import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import * as store from '../../../store/tenants/tenants.ts'
import { versionOf } from '../../if-match.ts'
import { noContent, route } from '../../route.ts'
import { tenantMismatch, tenantNotFound } from './get.ts'

const has = {
  JOBS: ['jobs', 'Delete them first: GET /v1/jobs'],
  GRAPHS: ['graphs', 'Delete them first: GET /v1/dags'],
  EXECUTIONS: ['unfinished executions', 'Let them end or cancel them first: GET /v1/executions'],
  POOLS: ['pools of its own', 'Delete them first: GET /v1/pools'],
  TOKENS: ['valid API keys', 'Revoke them first: GET /v1/tokens'],
} as const

export const deleteTenant = route(api.deleteTenant, async ({ params, headers, caller }, { database, signals }) => {
  const name = params.tenant
  const asked = versionOf(headers) ?? null
  const { verdict, version } = await store.deleteTenant(database, { name, version: asked, actor: caller.actor })
  if (verdict === 'DELETED') {
    signals.publish({ kind: 'TENANTS' })
    return noContent
  }
  if (verdict === 'UNKNOWN') throw tenantNotFound(name)
  if (verdict === 'MISMATCH') throw tenantMismatch(version, asked!)
  const [what, hint] = has[verdict]
  throw new CarillonError('STATE_CONFLICT', {
    message: `the tenant ${name} has ${what}`,
    hint: `${hint}, with the header Carillon-Tenant`,
  })
})
