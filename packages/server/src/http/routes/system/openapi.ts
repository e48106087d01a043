import { api, openApiDocument } from '@carillon/contract/api'
import { route } from '../../route.ts'

const documents = new Map<boolean, string>()

export const openapi = route(api.openapi, async ({ auth }) => ({ status: 200, text: documentFor(auth) }))

function documentFor(auth: boolean): string {
  const text = documents.get(auth) ?? JSON.stringify(openApiDocument(api, { version: '0.1.0', auth }))
  documents.set(auth, text)
  return text
}
