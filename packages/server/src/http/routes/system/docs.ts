/** The API for people: a page without anything from elsewhere, which reads /openapi.json. */
import { readFileSync } from 'node:fs'
import { api } from '@carillon/contract/api'
import { type Reply, route } from '../../route.ts'

const page = asset('docs-page.html', 'text/html; charset=utf-8')
const script = asset('docs-page.js', 'text/javascript; charset=utf-8')

export const docs = route(api.docs, async () => page)
export const docsScript = route(api.docsScript, async () => script)

function asset(file: string, type: string): Reply {
  const headers = {
    'content-type': type,
    'content-security-policy': "default-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
  }
  return { status: 200, text: readFileSync(new URL(`./${file}`, import.meta.url), 'utf8'), headers }
}
