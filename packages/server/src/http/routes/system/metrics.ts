import { api } from '@carillon/contract/api'
import { route } from '../../route.ts'

export const metricsHeaders = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

export const metrics = route(api.metrics, async ({ caller }, services) => ({
  status: 200,
  headers: metricsHeaders,
  text: await services.metrics.text({ whole: caller.platform && caller.scopes.has('metrics:read') }),
}))
