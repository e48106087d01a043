import { api, openApiDocument } from '@carillon/contract/api'
import { serverVersion } from '../../../lib/version.ts'
import { route } from '../../route.ts'

const documents = new Map<boolean, string>()

export const openapi = route(api.openapi, async ({ auth }) => ({ status: 200, text: documentFor(auth) }))

function documentFor(auth: boolean): string {
  const text = documents.get(auth) ?? JSON.stringify(openApiDocument(api, { version: serverVersion, auth }))
  documents.set(auth, text)
  return text
}
