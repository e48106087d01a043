import { api, openApiDocument } from '@carillon/contract/api'
import { route } from '../../route.ts'

const document = JSON.stringify(openApiDocument(api, { version: '0.1.0', auth: true }))

export const openapi = route(api.openapi, async () => ({ status: 200, text: document }))
